//! A pipeline whose blocks come from a pool of CUDA's stream-ordered allocator.

/// What a pipeline of this depth asks of the allocator, as a scenario: so many blocks are in flight at once.
pub fn scenario(depth: u32) -> String {
    format!(
        "pool blocks {{ release_threshold = max }}
stream worker
kernel step(block: read_write) takes 10us
repeat turn in 0..3 {{
  repeat i in 0..{depth} {{
    worker: block[i] = alloc 8MiB from blocks
    worker: step(block[i])
  }}
  repeat i in 0..{depth} {{
    worker: free block[i]
  }}
}}
sync worker
expect blocks.reserved_high <= 8MiB * {depth} + 32MiB
snapshot
"
    )
}
