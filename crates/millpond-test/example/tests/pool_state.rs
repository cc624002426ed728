//! What the pool holds, for each depth of the pipeline.

use millpond_test::{Error, Scenario};

#[test]
fn two_blocks_in_flight() -> Result<(), Error> {
    let run = Scenario::file("scenarios/deep/pipeline.scn")?.seed(7).run()?;
    insta::assert_snapshot!(run.snapshots());
    Ok(())
}

#[test]
fn the_pool_grows_with_the_depth() -> Result<(), Error> {
    for depth in [1, 2, 8] {
        let run = Scenario::text(pipelines::scenario(depth)).run()?;
        insta::assert_snapshot!(format!("depth_{depth}"), run.snapshots());
    }
    Ok(())
}
