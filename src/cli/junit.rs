//! Results of tests as JUnit XML, which code hosts read. No times: a run knows only virtual time.

use super::outside::{Complaint, Status};
use super::tested::Tested;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

/// The whole file.
///
/// # Errors
///
/// None that a text could give.
pub(super) fn report(results: &[Tested]) -> Result<String, Complaint> {
    let mut suite = TestSuite::new("scenarios");
    suite.add_test_cases(results.iter().map(test_case));
    let mut report = Report::new("millpond");
    report.add_test_suite(suite);
    report.to_string().map_err(|error| Complaint::wrong(format!("cannot write JUnit XML: {error}")))
}

fn test_case(tested: &Tested) -> TestCase {
    let path = tested.path.display().to_string();
    let folder = tested.path.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let name = tested.path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut case = TestCase::new(name.unwrap_or_else(|| path.clone()), status(tested));
    case.set_classname(folder);
    case.extra.insert("file".into(), path.into());
    case
}

fn status(tested: &Tested) -> TestCaseStatus {
    let kind = match tested.status {
        Status::Holds => return TestCaseStatus::success(),
        Status::Fails => NonSuccessKind::Failure,
        Status::Wrong | Status::Impossible => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    let first = tested.remarks.first();
    status.set_message(first.map_or(&tested.words, |remark| &remark.message).as_str());
    status.set_type(first.map_or("fails", |remark| remark.title.as_str()));
    status.set_description(tested.details.join("\n"));
    status
}
