//! The typed ids that every part shares. An id is a small number with a meaning; it never carries a name.

use index_vec::define_index_type;

define_index_type! {
    /// A device (one GPU), in the order of declaration.
    pub struct DeviceId = u32;
}
define_index_type! {
    /// A memory pool, default pools included.
    pub struct PoolId = u32;
}
define_index_type! {
    /// A stream, default streams included where a program uses them.
    pub struct StreamId = u32;
}
define_index_type! {
    /// An event of a program.
    pub struct EventId = u32;
}
define_index_type! {
    /// A kernel declaration.
    pub struct KernelId = u32;
}
define_index_type! {
    /// A signal, by which one part of a program lets others go on.
    pub struct SignalId = u32;
}
define_index_type! {
    /// A barrier, at which host threads wait for each other.
    pub struct BarrierId = u32;
}
define_index_type! {
    /// A collective: operations of several streams that run together.
    pub struct CollectiveId = u32;
}
define_index_type! {
    /// A name of a graph in a program; of an array of graphs, one element.
    pub struct GraphId = u32;
}
define_index_type! {
    /// A name of an executable graph in a program; of an array, one element.
    pub struct ExecId = u32;
}
define_index_type! {
    /// A host thread.
    pub struct HostId = u32;
}
define_index_type! {
    /// A process. The first one begins the program.
    pub struct ProcessId = u32;
}
define_index_type! {
    /// A source statement. Keys spans, random draws and the folding of loops.
    pub struct StmtId = u32;
}
define_index_type! {
    /// An expectation of a program.
    pub struct ExpectId = u32;
}
define_index_type! {
    /// A `snapshot` statement of a program.
    pub struct SnapshotId = u32;
}
define_index_type! {
    /// A name of a buffer in a program; of an array of buffers, one element.
    pub struct BufferId = u32;
}
define_index_type! {
    /// A buffer in the memory of the host.
    pub struct HostBufferId = u32;
}
