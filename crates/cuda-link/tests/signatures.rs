//! What is provided is what `cust_raw` 0.11.3 declares: the linker finds each name, and the parameters agree in number and layout.

#[macro_use]
#[path = "../src/entries.rs"]
mod entries;

use cuda_link::NAMES;
use entries::{HostFunction, IpcEventHandle};
use std::alloc::Layout;
use std::collections::BTreeSet;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

/// A function as its caller and its callee have to agree on it: the layout of the result, and of each parameter.
trait Signature {
    fn layouts() -> Vec<Layout>;
}

macro_rules! signature {
    ($($parameter:ident)*) => {
        impl<Result, $($parameter),*> Signature for unsafe extern "C" fn($($parameter),*) -> Result {
            fn layouts() -> Vec<Layout> {
                vec![Layout::new::<Result>(), $(Layout::new::<$parameter>()),*]
            }
        }
    };
}

signature!();
signature!(A);
signature!(A B);
signature!(A B C);
signature!(A B C D);
signature!(A B C D E);
signature!(A B C D E F G H I J K);

fn layouts_of<S: Signature>(_: S) -> Vec<Layout> {
    S::layouts()
}

macro_rules! any {
    ($argument:ident) => {
        _
    };
}

macro_rules! compare {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?);)*) => {
        /// Name, what is provided, and what is declared. To take the address of what is declared makes the linker look for it.
        fn compared() -> Vec<(&'static str, Vec<Layout>, Vec<Layout>)> {
            vec![$((
                stringify!($name),
                <unsafe extern "C" fn($($type),*) -> c_int>::layouts(),
                layouts_of(cust_raw::$name as unsafe extern "C" fn($(any!($argument)),*) -> _),
            )),*]
        }
    };
}

entries!(compare);

#[test]
fn every_entry_is_linked_as_it_is_declared() {
    let compared = compared();
    for (name, provided, declared) in &compared {
        assert_eq!(provided, declared, "{name}: the result, then the parameters");
    }
    let names: Vec<&str> = compared.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, NAMES);
}

#[test]
fn no_name_comes_twice() {
    assert_eq!(NAMES.iter().collect::<BTreeSet<_>>().len(), NAMES.len());
}
