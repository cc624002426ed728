//! The pointers among the arguments of entries. They come from callers alone, who promise for each that it is null or valid for
//! what the entry does with it, as the documents of CUDA ask of them; so a null pointer is found here, and nothing else can be.
//!
//! It must not know what is behind them.
#![allow(unsafe_code)]

use crate::error::Error;
use std::ffi::{CStr, c_char, c_void};

/// Where an entry writes an answer.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

/// What an entry reads.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct In<T>(*const T);

/// A text that an entry reads, with a zero at its end.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl<T> Out<T> {
    /// The same, which is not null.
    pub(crate) fn required(self) -> Result<Self, Error> {
        if self.0.is_null() { Err(Error::INVALID_VALUE) } else { Ok(self) }
    }

    /// Writes the answer, if there is a place for it.
    pub(crate) fn set(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller of the entry promises a place for a `T`.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// What is there now.
    pub(crate) fn get(self) -> Result<T, Error>
    where
        T: Copy,
    {
        In(self.0).get()
    }

    /// Writes the first of several answers, and those after it.
    pub(crate) fn set_all(self, values: &[T])
    where
        T: Copy,
    {
        if !self.0.is_null() {
            // SAFETY: the caller of the entry promises room for as many as it has said.
            unsafe { self.0.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        }
    }

    /// The address.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }
}

impl Out<c_void> {
    /// The same for an answer of this kind.
    pub(crate) fn of<T>(self) -> Out<T> {
        Out(self.0.cast())
    }
}

impl<T: Copy> In<T> {
    /// What is there.
    pub(crate) fn get(self) -> Result<T, Error> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller of the entry promises that a `T` is there.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// So many, one after the other.
    pub(crate) fn all(self, count: usize) -> Result<Vec<T>, Error> {
        if self.0.is_null() {
            return if count == 0 { Ok(Vec::new()) } else { Err(Error::INVALID_VALUE) };
        }
        // SAFETY: the caller of the entry promises that so many are there.
        Ok((0..count).map(|nth| unsafe { self.0.add(nth).read_unaligned() }).collect())
    }
}

impl In<u8> {
    /// So many bytes.
    pub(crate) fn bytes(self, count: usize) -> Result<Box<[u8]>, Error> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller of the entry promises that so many are there, and that nobody writes to them meanwhile.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) }.into())
    }
}

impl<T> In<T> {
    /// Whether it points nowhere.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub(crate) fn address(&self) -> u64 {
        self.0 as u64
    }
}

impl In<c_void> {
    /// The same as one thing.
    pub(crate) fn of<T>(self) -> In<T> {
        In(self.0.cast())
    }

    /// The same as a text.
    pub(crate) fn text(self) -> Text {
        Text(self.0.cast())
    }
}

impl Text {
    /// The bytes before the zero.
    pub(crate) fn bytes(self) -> Result<Vec<u8>, Error> {
        if self.0.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller of the entry promises a text with a zero at its end.
        Ok(unsafe { CStr::from_ptr(self.0) }.to_bytes().to_vec())
    }
}

/// Memory of the program that a copy writes before its entry returns.
pub(crate) struct Raw(*mut u8);

// SAFETY: it is written by one thread, under the lock of the driver, while the entry that has got it has not returned.
unsafe impl Send for Raw {}

impl Raw {
    /// Of an argument.
    pub(crate) fn new(of: Out<u8>) -> Self {
        Self(of.0)
    }

    /// Writes bytes, counted from the start.
    pub(crate) fn write(&self, from: usize, bytes: &[u8]) {
        // SAFETY: the caller of the entry promises that there is room for the whole copy, until its entry returns; `from` and
        // `bytes` are within that.
        unsafe { self.0.add(from).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }
}

/// A function of the program with what it is to be given.
#[derive(Clone, Copy)]
pub(crate) struct HostFunction {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the documents of `cuLaunchHostFunc` say that a thread of the driver calls the function.
unsafe impl Send for HostFunction {}

impl HostFunction {
    /// Of the arguments of `cuLaunchHostFunc`.
    pub(crate) fn new(function: unsafe extern "C" fn(*mut c_void), data: Out<c_void>) -> Self {
        Self { function, data: data.0 }
    }

    /// Calls it.
    pub(crate) fn call(self) {
        // SAFETY: the caller of the entry promises that the function can be called once with this.
        unsafe { (self.function)(self.data) };
    }
}
