// SPDX-License-Identifier: Apache-2.0
//! mpk/run.h for Rust: models that Apache TVM compiled, without TVM.
//!
//! ```no_run
//! # fn main() -> Result<(), mpk_run::Error> {
//! let model = mpk_run::Model::open("mlp.so")?;
//! let f = model.find("main")?;
//! let x = [0f32; 64];
//! let y = f.call(&[mpk_run::View::new(&x, &[1, 64])?.into()])?;
//! let first = y[0].as_slice::<f32>()?[0];
//! # let _ = first; Ok(()) }
//! ```
//!
//! What the C header says of its functions holds here. Handles may be given back in any order, and go from thread to
//! thread; calls of one session wait for each other. Code in a model's file is code: open no file that you would not run.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;
use std::{fmt, mem, ptr, slice};

mod ffi {
    use super::*;

    pub enum Model {}
    pub enum Function {}
    pub enum Value {}

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Tensor {
        pub data: *mut c_void,
        pub device_type: i32,
        pub device_id: i32,
        pub ndim: i32,
        pub code: u8,
        pub bits: u8,
        pub lanes: u16,
        pub shape: *mut i64,
        pub strides: *mut i64,
        pub byte_offset: u64,
    }

    #[repr(C)]
    pub struct Managed {
        pub version: [u32; 2],
        pub ctx: *mut c_void,
        pub deleter: extern "C" fn(*mut Managed),
        pub flags: u64,
        pub tensor: Tensor,
    }

    #[repr(C)]
    pub struct Error {
        pub code: c_int,
        pub text: [c_char; 1020],
    }

    #[repr(C)]
    pub struct Arg {
        pub tensor: *const Tensor,
        pub value: *mut Value,
    }

    #[repr(C)]
    pub struct Invocation {
        pub size: usize,
        pub model: *mut Model,
        pub name: *const c_char,
        pub args: *const *mut Value,
        pub count: usize,
    }

    pub type Callback = extern "C" fn(*mut c_void, *const Invocation, *mut *mut Value, *mut Error) -> c_int;

    extern "C" {
        pub fn mpkr_open(path: *const c_char, options: *const c_void, out: *mut *mut Model, err: *mut Error) -> c_int;
        pub fn mpkr_close(model: *mut Model);
        pub fn mpkr_bind_weights(model: *mut Model, path: *const c_char, count: *mut usize, err: *mut Error) -> c_int;
        pub fn mpkr_function_count(model: *mut Model) -> usize;
        pub fn mpkr_function_name(model: *mut Model, i: usize) -> *const c_char;
        pub fn mpkr_find(model: *mut Model, name: *const c_char, out: *mut *mut Function, err: *mut Error) -> c_int;
        pub fn mpkr_session(function: *mut Function, out: *mut *mut Function, err: *mut Error) -> c_int;
        pub fn mpkr_drop(function: *mut Function);
        pub fn mpkr_call_value(
            function: *mut Function,
            args: *const Arg,
            n: usize,
            out: *mut *mut Value,
            err: *mut Error,
        ) -> c_int;
        pub fn mpkr_value_make(
            model: *mut Model,
            kind: c_int,
            tensor: *const Tensor,
            out: *mut *mut Value,
            err: *mut Error,
        ) -> c_int;
        pub fn mpkr_value_kind(value: *const Value) -> c_int;
        pub fn mpkr_value_count(value: *const Value) -> usize;
        pub fn mpkr_value_item(value: *const Value, i: usize, out: *mut *mut Value, err: *mut Error) -> c_int;
        pub fn mpkr_value_tensor(value: *const Value, device: i32, out: *mut *mut Managed, err: *mut Error) -> c_int;
        pub fn mpkr_value_hold(value: *const Value, out: *mut *mut Value, err: *mut Error) -> c_int;
        pub fn mpkr_value_drop(value: *mut Value);
        pub fn mpkr_state_save(
            state: *const Value,
            ids: *const i64,
            count: usize,
            out: *mut *mut Managed,
            err: *mut Error,
        ) -> c_int;
        pub fn mpkr_state_load(state: *mut Value, bytes: *const c_void, len: usize, err: *mut Error) -> c_int;
        pub fn mpkr_register(
            model: *mut Model,
            name: *const c_char,
            function: Option<Callback>,
            context: *mut c_void,
            err: *mut Error,
        ) -> c_int;
        pub fn mpkr_stop(function: *mut Function);
        pub fn mpkr_stop_after(function: *mut Function, nanoseconds: i64);
        pub fn mpkr_resume(function: *mut Function);
    }
}

const USAGE: i32 = 1;
const RAISED: i32 = 8;
const KIND_NUMBER: c_int = 2;
const KIND_SHAPE: c_int = 3;
const KIND_NONE: c_int = 6;
const KIND_TUPLE: c_int = 7;
const CPU: i32 = 1;

/// What failed: `enum mpkr_code` and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub code: i32,
    pub text: String,
}

impl Error {
    /// As a function of the application raises it: `"ValueError: ..."`.
    pub fn raised(text: impl Into<String>) -> Self {
        Error { code: RAISED, text: text.into() }
    }
    fn usage(text: &str) -> Self {
        Error { code: USAGE, text: text.to_owned() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

/// Calls a function of C that gives one thing.
fn take<T>(call: impl FnOnce(*mut T, *mut ffi::Error) -> c_int) -> Result<T> {
    let mut err = mem::MaybeUninit::<ffi::Error>::uninit();
    let mut out = mem::MaybeUninit::<T>::uninit();

    match call(out.as_mut_ptr(), err.as_mut_ptr()) {
        // set on success
        0 => Ok(unsafe { out.assume_init() }),
        // text is, on failure, and ends with NUL
        code => Err(Error {
            code,
            text: unsafe { CStr::from_ptr(ptr::addr_of!((*err.as_ptr()).text).cast()) }
                .to_string_lossy()
                .into_owned(),
        }),
    }
}

fn text_of(s: &str) -> Result<CString> {
    CString::new(s).map_err(|_| Error::usage("a text with a NUL in it"))
}

/// Numbers that tensors have as elements.
///
/// # Safety
/// Any bits are a value, and code and bits are DLPack's of the type.
pub unsafe trait Element: Copy {
    const CODE: u8;
    const BITS: u8;
}

macro_rules! elements {
    ($($t:ty: $code:expr, $bits:expr;)*) => { $(
        unsafe impl Element for $t {
            const CODE: u8 = $code;
            const BITS: u8 = $bits;
        }
    )* };
}
elements! { i8: 0, 8; i16: 0, 16; i32: 0, 32; i64: 0, 64; u8: 1, 8; u16: 1, 16; u32: 1, 32; u64: 1, 64; f32: 2, 32; f64: 2, 64; }

/// Memory of the caller as a tensor.
#[derive(Clone)]
pub struct View<'a> {
    tensor: ffi::Tensor,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> View<'a> {
    pub fn new<T: Element>(data: &'a [T], shape: &'a [i64]) -> Result<Self> {
        let count = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(usize::try_from(extent).ok()?));

        if count != Some(data.len()) {
            return Err(Error::usage("a shape that is not of so many elements"));
        }
        Ok(View {
            tensor: ffi::Tensor {
                data: data.as_ptr() as *mut c_void, // models write to no input
                device_type: CPU,
                device_id: 0,
                ndim: shape.len() as i32,
                code: T::CODE,
                bits: T::BITS,
                lanes: 1,
                shape: shape.as_ptr() as *mut i64,
                strides: ptr::null_mut(),
                byte_offset: 0,
            },
            memory: PhantomData,
        })
    }
}

/// A result: memory of the library.
pub struct Tensor(*mut ffi::Managed);

unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}

impl Tensor {
    fn get(&self) -> &ffi::Tensor {
        unsafe { &(*self.0).tensor }
    }
    pub fn shape(&self) -> &[i64] {
        match self.get().ndim {
            0 => &[],
            n => unsafe { slice::from_raw_parts(self.get().shape, n as usize) },
        }
    }
    fn elements<T: Element>(&self) -> Result<(*mut T, usize)> {
        let t = self.get();
        let count: i64 = self.shape().iter().product();

        if t.code != T::CODE || t.bits != T::BITS || t.lanes != 1 {
            return Err(Error::usage("a tensor of elements of another type"));
        }
        if t.device_type != CPU {
            return Err(Error::usage("a tensor in memory of a device"));
        }
        let data = if count == 0 { ptr::NonNull::<T>::dangling().as_ptr() } else { t.data.cast() };
        Ok((data, count as usize))
    }
    /// The elements, in host memory.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.elements().map(|(data, count)| unsafe { slice::from_raw_parts(data, count) })
    }
    /// The same to be written to: of an argument of a function of the application this is the model's memory.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.elements().map(|(data, count)| unsafe { slice::from_raw_parts_mut(data, count) })
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { ((*self.0).deleter)(self.0) }
    }
}

/// What one call gave and the next one takes: a cache, a tuple, a tensor on its device.
pub struct Value(*mut ffi::Value);

unsafe impl Send for Value {}
unsafe impl Sync for Value {}

impl Value {
    pub fn len(&self) -> usize {
        unsafe { ffi::mpkr_value_count(self.0) }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Item i of a tuple.
    pub fn item(&self, i: usize) -> Result<Value> {
        take(|out, err| unsafe { ffi::mpkr_value_item(self.0, i, out, err) }).map(Value)
    }
    /// As a tensor in host memory.
    pub fn tensor(&self) -> Result<Tensor> {
        take(|out, err| unsafe { ffi::mpkr_value_tensor(self.0, CPU, out, err) }).map(Tensor)
    }
    /// Sequences of a cache or a recurrent state as bytes; none: all.
    pub fn save(&self, ids: &[i64]) -> Result<Vec<u8>> {
        let list = if ids.is_empty() { ptr::null() } else { ids.as_ptr() };
        let bytes =
            Tensor(take(|out, err| unsafe { ffi::mpkr_state_save(self.0, list, ids.len(), out, err) })?);

        bytes.as_slice::<u8>().map(<[u8]>::to_vec)
    }
    /// Adds what was saved.
    pub fn load(&mut self, bytes: &[u8]) -> Result<()> {
        take(|_: *mut (), err| unsafe { ffi::mpkr_state_load(self.0, bytes.as_ptr().cast(), bytes.len(), err) })
    }
    fn collect(&self, out: &mut Vec<Tensor>) -> Result<()> {
        match unsafe { ffi::mpkr_value_kind(self.0) } {
            KIND_NONE => Ok(()),
            KIND_TUPLE => (0..self.len()).try_for_each(|i| self.item(i)?.collect(out)),
            _ => self.tensor().map(|t| out.push(t)),
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        unsafe { ffi::mpkr_value_drop(self.0) }
    }
}

/// An input of a call.
pub enum Arg<'a> {
    Tensor(View<'a>),
    Value(&'a Value),
    None,
}

impl<'a> From<View<'a>> for Arg<'a> {
    fn from(v: View<'a>) -> Self {
        Arg::Tensor(v)
    }
}

impl<'a> From<&'a Value> for Arg<'a> {
    fn from(v: &'a Value) -> Self {
        Arg::Value(v)
    }
}

pub struct Function(*mut ffi::Function);

unsafe impl Send for Function {}
unsafe impl Sync for Function {}

impl Function {
    /// Whatever it takes and gives.
    pub fn call_value(&self, args: &[Arg]) -> Result<Value> {
        let list: Vec<ffi::Arg> = args
            .iter()
            .map(|a| match a {
                Arg::Tensor(v) => ffi::Arg { tensor: &v.tensor, value: ptr::null_mut() },
                Arg::Value(v) => ffi::Arg { tensor: ptr::null(), value: v.0 },
                Arg::None => ffi::Arg { tensor: ptr::null(), value: ptr::null_mut() },
            })
            .collect();

        take(|out, err| unsafe { ffi::mpkr_call_value(self.0, list.as_ptr(), list.len(), out, err) }).map(Value)
    }
    /// Tensors in, tensors out.
    pub fn call(&self, args: &[Arg]) -> Result<Vec<Tensor>> {
        let mut out = Vec::new();

        self.call_value(args)?.collect(&mut out)?;
        Ok(out)
    }
    /// Another machine over the same code and weights.
    pub fn session(&self) -> Result<Function> {
        take(|out, err| unsafe { ffi::mpkr_session(self.0, out, err) }).map(Function)
    }
    /// Ends calls of this session, from any thread, until `resume`.
    pub fn stop(&self) {
        unsafe { ffi::mpkr_stop(self.0) }
    }
    pub fn stop_after(&self, time: Duration) {
        unsafe { ffi::mpkr_stop_after(self.0, i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)) }
    }
    pub fn resume(&self) {
        unsafe { ffi::mpkr_resume(self.0) }
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        unsafe { ffi::mpkr_drop(self.0) }
    }
}

/// A call that a model makes of a function of the application.
pub struct Call<'a>(&'a ffi::Invocation);

impl Call<'_> {
    pub fn len(&self) -> usize {
        self.0.count
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    fn at(&self, i: usize) -> Result<*mut ffi::Value> {
        if i >= self.0.count {
            return Err(Error::usage("fewer arguments than the function takes"));
        }
        Ok(unsafe { *self.0.args.add(i) })
    }
    /// The memory of an argument itself.
    pub fn tensor(&self, i: usize) -> Result<Tensor> {
        let value = self.at(i)?;

        take(|out, err| unsafe { ffi::mpkr_value_tensor(value, 0, out, err) }).map(Tensor)
    }
    /// An argument to keep or to give back.
    pub fn hold(&self, i: usize) -> Result<Value> {
        let value = self.at(i)?;

        take(|out, err| unsafe { ffi::mpkr_value_hold(value, out, err) }).map(Value)
    }
}

type Body = dyn Fn(&Call) -> Result<Option<Value>> + Send + Sync;

extern "C" fn enter(
    context: *mut c_void,
    call: *const ffi::Invocation,
    result: *mut *mut ffi::Value,
    err: *mut ffi::Error,
) -> c_int {
    let body = unsafe { &*(context as *const Box<Body>) };
    let got = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&Call(unsafe { &*call }))));
    let failure = match got {
        Ok(Ok(value)) => {
            if let Some(v) = value {
                unsafe { *result = v.0 };
                mem::forget(v);
            }
            return 0;
        }
        Ok(Err(e)) => e,
        Err(_) => Error::raised("RuntimeError: a function of the application panicked"),
    };
    let text = failure.text.as_bytes();
    let room = unsafe { &mut (*err).text };
    let len = text.len().min(room.len() - 1);

    for (to, from) in room.iter_mut().zip(&text[..len]) {
        *to = *from as c_char;
    }
    room[len] = 0;
    failure.code
}

/// A function that a model calls by name as long as this is there.
pub struct Registration<'a> {
    model: &'a Model,
    name: CString,
    body: *mut Box<Body>,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        unsafe {
            // nobody is in it afterwards
            ffi::mpkr_register(self.model.0, self.name.as_ptr(), None, ptr::null_mut(), ptr::null_mut());
            drop(Box::from_raw(self.body));
        }
    }
}

pub struct Model(*mut ffi::Model);

unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let path = text_of(path.as_ref().to_str().ok_or_else(|| Error::usage("a path that is not UTF-8"))?)?;

        take(|out, err| unsafe { ffi::mpkr_open(path.as_ptr(), ptr::null(), out, err) }).map(Model)
    }
    /// How many tensors of the file are taken.
    pub fn bind(&self, path: &str) -> Result<usize> {
        let path = text_of(path)?;

        take(|out, err| unsafe { ffi::mpkr_bind_weights(self.0, path.as_ptr(), out, err) })
    }
    pub fn functions(&self) -> Vec<String> {
        (0..unsafe { ffi::mpkr_function_count(self.0) })
            .map(|i| unsafe { ffi::mpkr_function_name(self.0, i) })
            .filter(|name| !name.is_null())
            .map(|name| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
            .collect()
    }
    pub fn find(&self, name: &str) -> Result<Function> {
        let name = text_of(name)?;

        take(|out, err| unsafe { ffi::mpkr_find(self.0, name.as_ptr(), out, err) }).map(Function)
    }
    /// Lets the model call a function of the application by name.
    pub fn register<F>(&self, name: &str, body: F) -> Result<Registration<'_>>
    where
        F: Fn(&Call) -> Result<Option<Value>> + Send + Sync + 'static,
    {
        let name = text_of(name)?;
        let body: *mut Box<Body> = Box::into_raw(Box::new(Box::new(body)));
        let done = take(|_: *mut (), err| unsafe {
            ffi::mpkr_register(self.0, name.as_ptr(), Some(enter), body.cast(), err)
        });

        if let Err(e) = done {
            drop(unsafe { Box::from_raw(body) });
            return Err(e);
        }
        Ok(Registration { model: self, name, body })
    }
    fn make(&self, kind: c_int, data: &[i64], shape: &[i64]) -> Result<Value> {
        let view = View::new(data, shape)?;

        take(|out, err| unsafe { ffi::mpkr_value_make(self.0, kind, &view.tensor, out, err) }).map(Value)
    }
    pub fn number(&self, n: i64) -> Result<Value> {
        self.make(KIND_NUMBER, &[n], &[])
    }
    pub fn shape(&self, extents: &[i64]) -> Result<Value> {
        self.make(KIND_SHAPE, extents, &[extents.len() as i64])
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { ffi::mpkr_close(self.0) }
    }
}
