//! Cloning into a value that is already there, so that exploration copies a state without touching the heap.

/// Implements `Clone` field by field, with a `clone_from` that keeps the heap memory of the target.
///
/// The derive cannot do this: its `clone_from` builds a new value and drops the old one.
macro_rules! reuse_on_clone {
    ($type:ident $(<$life:lifetime>)? $([$($parameter:ident : $($bound:path),+);+])? { $($field:ident),+ $(,)? }) => {
        impl $(<$life>)? $(<$($parameter: $($bound +)+),+>)? Clone for $type $(<$life>)? $(<$($parameter),+>)? {
            fn clone(&self) -> Self {
                Self { $($field: Clone::clone(&self.$field)),+ }
            }
            fn clone_from(&mut self, source: &Self) {
                $(Clone::clone_from(&mut self.$field, &source.$field);)+
            }
        }
    };
}
pub(crate) use reuse_on_clone;
