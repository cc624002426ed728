//! Faults that the driver can be given on purpose, so that a test shows that it would notice a driver that is wrong in this way.

use std::fmt;

/// The variable that [`Faults::from_environment`] reads.
pub const VARIABLE: &str = "MILLPOND_SIMULATED_FAULT";

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// In which ways the driver is wrong. By default in none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Faults {
            $($(#[$doc])* pub $name: bool,)*
        }

        impl Faults {
            /// Every fault.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            fn place(&mut self, name: &str) -> Option<&mut bool> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

faults! {
    /// `cuStreamWaitEvent` answers success and does nothing.
    wait_dropped,
    /// `cuMemFreeAsync` gives memory back as if everything before it were complete at the call.
    free_at_once,
    /// Reuse policies can be set and read back, but all stay on.
    policy_ignored,
    /// `CU_MEMPOOL_ATTR_USED_MEM_CURRENT` answers what is reserved.
    wrong_attribute,
    /// A release threshold can be set and read back, but acts as 0.
    threshold_ignored,
    /// `cuMemPoolTrimTo` answers success and gives nothing back.
    trim_ignored,
    /// A synchronise waits, but the allocator learns nothing from it and gives nothing back.
    sync_observes_nothing,
    /// A second free of the same memory answers success.
    double_free_accepted,
}

impl Faults {
    /// The faults with these names, which commas separate.
    ///
    /// # Errors
    /// If one of them is not known.
    pub fn named(names: &str) -> Result<Self, UnknownFault> {
        let mut faults = Self::default();
        for name in names.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            *faults.place(name).ok_or_else(|| UnknownFault(name.to_owned()))? = true;
        }
        Ok(faults)
    }

    /// The faults that the variable [`VARIABLE`] names; none where it is not set.
    ///
    /// # Errors
    /// If one of them is not known.
    pub fn from_environment() -> Result<Self, UnknownFault> {
        let names = std::env::var_os(VARIABLE).unwrap_or_default();
        Self::named(&names.to_string_lossy())
    }
}

/// No fault has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFault(pub String);

impl fmt::Display for UnknownFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no fault `{}`; there are: {}", self.0, Faults::NAMES.join(", "))
    }
}

impl std::error::Error for UnknownFault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_names() {
        assert_eq!(Faults::NAMES.len(), 8);
        for name in Faults::NAMES {
            assert_ne!(Faults::named(name), Ok(Faults::default()), "{name}");
        }
        let both = Faults { trim_ignored: true, wait_dropped: true, ..Faults::default() };
        assert_eq!(Faults::named(" trim_ignored,wait_dropped,"), Ok(both));
        assert_eq!(Faults::named(""), Ok(Faults::default()));
        let error = Faults::named("trim_ignored,slow").expect_err("there is none");
        assert!(error.to_string().contains("`slow`") && error.to_string().contains("free_at_once"));
    }
}
