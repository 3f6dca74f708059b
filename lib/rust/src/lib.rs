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
//! The documentation of the functions in the C header applies here, too. Handles may be dropped in any order, and may be
//! moved between threads. Calls of one session run one after another. A model's file contains code that is executed:
//! open no file that you would not run.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;
use std::sync::{Arc, Mutex};
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

    /// The size tells the library which fields exist; fields of later releases are 0.
    #[repr(C)]
    pub struct Options {
        pub size: usize,
        pub device: [i32; 2],
        pub threads: u32,
        pub flags: u32,
        pub tvm_ffi: *const c_char,
        pub cuda_home: *const c_char,
        pub stream: *mut c_void,
        pub loaded: Option<extern "C" fn(*mut c_void, u64)>,
        pub loaded_context: *mut c_void,
        pub log: Option<extern "C" fn(*mut c_void, *const c_char)>,
        pub log_context: *mut c_void,
        pub host_memory: *const Memory,
        pub device_memory: *const Memory,
        pub parallel_for: *const c_void,
        pub parallel_context: *mut c_void,
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    pub struct Device {
        pub device_type: i32,
        pub device_id: i32,
    }

    pub type Allocate = extern "C" fn(*mut c_void, Device, usize, usize) -> *mut c_void;
    pub type Give = extern "C" fn(*mut c_void, Device, *mut c_void, usize);

    #[repr(C)]
    pub struct Memory {
        pub size: usize,
        pub budget: u64,
        pub allocate: Option<Allocate>,
        pub release: Option<Give>,
        pub context: *mut c_void,
    }

    #[repr(C)]
    pub struct Requirement {
        pub size: usize,
        pub kind: c_int,
        pub name: *const c_char,
        pub device_type: i32,
        pub is_met: c_int,
    }

    #[repr(C)]
    pub struct Event {
        pub size: usize,
        pub is_end: c_int,
        pub kind: c_int,
        pub name: *const c_char,
        pub function: *const c_char,
        pub index: usize,
        pub device: [i32; 2],
        pub nanoseconds: i64,
        pub args: *const *mut Value,
        pub count: usize,
        pub result: *mut Value,
    }

    #[repr(C)]
    pub struct Row {
        pub size: usize,
        pub name: *const c_char,
        pub kind: c_int,
        pub device: [i32; 2],
        pub calls: u64,
        pub total: i64,
        pub min: i64,
        pub max: i64,
        pub share: f64,
    }

    #[repr(C)]
    pub struct Failure {
        pub size: usize,
        pub name: *const c_char,
        pub function: *const c_char,
        pub before: *const c_char,
        pub instruction: i64,
    }

    #[repr(C)]
    pub struct Extent {
        pub name: *const c_char,
        pub extent: i64,
    }

    pub type Watcher = extern "C" fn(*mut c_void, *const Event) -> c_int;
    pub type Release = extern "C" fn(*mut c_void);
    pub type Callback = extern "C" fn(*mut c_void, *const Invocation, *mut *mut Value, *mut Error) -> c_int;

    extern "C" {
        pub fn mpkr_open(path: *const c_char, options: *const Options, out: *mut *mut Model, err: *mut Error) -> c_int;
        pub fn mpkr_close(model: *mut Model);
        pub fn mpkr_bind_weights(model: *mut Model, path: *const c_char, count: *mut usize, err: *mut Error) -> c_int;
        pub fn mpkr_metadata(model: *mut Model, out: *mut *const c_char, err: *mut Error) -> c_int;
        pub fn mpkr_requirement_at(model: *mut Model, i: usize, out: *mut Requirement, err: *mut Error) -> c_int;
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
        pub fn mpkr_value_function(function: *mut Function, out: *mut *mut Value, err: *mut Error) -> c_int;
        pub fn mpkr_value_callback(
            model: *mut Model,
            name: *const c_char,
            function: Callback,
            context: *mut c_void,
            release: Option<Release>,
            out: *mut *mut Value,
            err: *mut Error,
        ) -> c_int;
        pub fn mpkr_watch(model: *mut Model, watcher: Option<Watcher>, context: *mut c_void);
        pub fn mpkr_profile(model: *mut Model, is_on: c_int);
        pub fn mpkr_profile_at(model: *mut Model, i: usize, out: *mut Row, err: *mut Error) -> c_int;
        pub fn mpkr_failed_at(function: *const Function, out: *mut Failure) -> c_int;
        pub fn mpkr_memory_now(model: *mut Model, device_type: i32, out: *mut super::Usage, err: *mut Error) -> c_int;
        pub fn mpkr_memory_need(
            model: *mut Model,
            name: *const c_char,
            extents: *const Extent,
            count: usize,
            out: *mut super::Need,
            err: *mut Error,
        ) -> c_int;
        pub fn mpkr_memory_trim(model: *mut Model);
        pub fn mpkr_stop(function: *mut Function);
        pub fn mpkr_stop_after(function: *mut Function, nanoseconds: i64);
        pub fn mpkr_resume(function: *mut Function);
    }
}

const USAGE: i32 = 1;
const RAISED: i32 = 8;
const NOT_FOUND: i32 = 5;
const KIND_NUMBER: c_int = 2;
const KIND_SHAPE: c_int = 3;
const KIND_NONE: c_int = 6;
const KIND_TUPLE: c_int = 7;
const CPU: i32 = 1;

/// An error: its `enum mpkr_code` and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub code: i32,
    pub text: String,
}

impl Error {
    /// Makes the error that a function of the application returns: `"ValueError: ..."`.
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

/// Calls a C function with one result.
fn take<T>(call: impl FnOnce(*mut T, *mut ffi::Error) -> c_int) -> Result<T> {
    let mut err = mem::MaybeUninit::<ffi::Error>::uninit();
    let mut out = mem::MaybeUninit::<T>::uninit();

    match call(out.as_mut_ptr(), err.as_mut_ptr()) {
        // set on success
        0 => Ok(unsafe { out.assume_init() }),
        // on failure, text is set and ends with NUL
        code => Err(Error {
            code,
            text: unsafe { CStr::from_ptr(ptr::addr_of!((*err.as_ptr()).text).cast()) }
                .to_string_lossy()
                .into_owned(),
        }),
    }
}

fn text_at(s: *const c_char) -> String {
    unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
}

fn text_of(s: &str) -> Result<CString> {
    CString::new(s).map_err(|_| Error::usage("a text with a NUL in it"))
}

/// The number types of tensor elements.
///
/// # Safety
/// Every bit pattern must be a valid value, and code and bits must be DLPack's for the type.
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

/// A tensor in memory of the caller.
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

/// A result, in memory of the library.
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
    /// Returns the elements, which must be in host memory.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        self.elements().map(|(data, count)| unsafe { slice::from_raw_parts(data, count) })
    }
    /// Returns the elements for writing. For an argument of an application's function, this is the model's memory.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        self.elements().map(|(data, count)| unsafe { slice::from_raw_parts_mut(data, count) })
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { ((*self.0).deleter)(self.0) }
    }
}

/// A result that can be passed to the next call: a cache, a tuple, a tensor on its device.
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
    /// Returns item i of a tuple.
    pub fn item(&self, i: usize) -> Result<Value> {
        take(|out, err| unsafe { ffi::mpkr_value_item(self.0, i, out, err) }).map(Value)
    }
    /// Returns the value as a tensor in host memory.
    pub fn tensor(&self) -> Result<Tensor> {
        take(|out, err| unsafe { ffi::mpkr_value_tensor(self.0, CPU, out, err) }).map(Tensor)
    }
    /// Saves sequences of a cache or a recurrent state as bytes; without ids, all of them.
    pub fn save(&self, ids: &[i64]) -> Result<Vec<u8>> {
        let list = if ids.is_empty() { ptr::null() } else { ids.as_ptr() };
        let bytes =
            Tensor(take(|out, err| unsafe { ffi::mpkr_state_save(self.0, list, ids.len(), out, err) })?);

        bytes.as_slice::<u8>().map(<[u8]>::to_vec)
    }
    /// Adds saved sequences.
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

/// The application's callbacks, which must live as long as calls may be made.
type Listeners = Arc<Heard>;

pub struct Function(*mut ffi::Function, Listeners);

unsafe impl Send for Function {}
unsafe impl Sync for Function {}

impl Function {
    /// Calls the function with arguments and a result of any kind.
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
    /// Calls the function, and returns all results as tensors.
    pub fn call(&self, args: &[Arg]) -> Result<Vec<Tensor>> {
        let mut out = Vec::new();

        self.call_value(args)?.collect(&mut out)?;
        Ok(out)
    }
    /// Returns the same function in a new session, which shares code and weights.
    pub fn session(&self) -> Result<Function> {
        take(|out, err| unsafe { ffi::mpkr_session(self.0, out, err) })
            .map(|f| Function(f, Arc::clone(&self.1)))
    }
    /// Returns the function as a value, for functions that take functions as arguments.
    pub fn value(&self) -> Result<Value> {
        take(|out, err| unsafe { ffi::mpkr_value_function(self.0, out, err) }).map(Value)
    }
    /// Returns the operator in which the last call of this session failed.
    pub fn failed_at(&self) -> Option<Failure> {
        let mut at = ffi::Failure {
            size: mem::size_of::<ffi::Failure>(),
            name: ptr::null(),
            function: ptr::null(),
            before: ptr::null(),
            instruction: -1,
        };

        (unsafe { ffi::mpkr_failed_at(self.0, &mut at) } == 0).then(|| Failure {
            name: text_at(at.name),
            function: text_at(at.function),
            before: text_at(at.before),
            instruction: usize::try_from(at.instruction).ok(),
        })
    }
    /// Stops all calls of this session until `resume`. Any thread may call it.
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

/// A model's call of a function of the application.
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
    /// Returns an argument without copying its memory.
    pub fn tensor(&self, i: usize) -> Result<Tensor> {
        let value = self.at(i)?;

        take(|out, err| unsafe { ffi::mpkr_value_tensor(value, 0, out, err) }).map(Tensor)
    }
    /// Returns an argument as a value that may be kept or returned.
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

extern "C" fn let_go(context: *mut c_void) {
    drop(unsafe { Box::from_raw(context as *mut Box<Body>) })
}

/// The begin or end of an operator.
pub struct Event<'a>(&'a ffi::Event);

/// Whether the call continues, and whether the kernel that begins is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    GoOn = 0,
    Stop = 1,
    Skip = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Kernel,
    Copy,
    Builtin,
}

impl Operator {
    fn of(kind: c_int) -> Self {
        match kind {
            0 => Operator::Kernel,
            1 => Operator::Copy,
            _ => Operator::Builtin,
        }
    }
}

impl Event<'_> {
    pub fn is_end(&self) -> bool {
        self.0.is_end != 0
    }
    pub fn kind(&self) -> Operator {
        Operator::of(self.0.kind)
    }
    pub fn name(&self) -> String {
        text_at(self.0.name)
    }
    /// The function that contains the operator; "" in a graph.
    pub fn function(&self) -> String {
        text_at(self.0.function)
    }
    /// The index of its instruction in that function.
    pub fn index(&self) -> usize {
        self.0.index
    }
    /// The device's type as in DLPack, and its number.
    pub fn device(&self) -> (i32, i32) {
        (self.0.device[0], self.0.device[1])
    }
    /// The time of a monotonic clock.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.0.nanoseconds as u64)
    }
    pub fn len(&self) -> usize {
        self.0.count
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns an argument of the operator as a value that may be kept.
    pub fn hold(&self, i: usize) -> Result<Value> {
        if i >= self.0.count {
            return Err(Error::usage("fewer arguments than the operator takes"));
        }
        take(|out, err| unsafe { ffi::mpkr_value_hold(*self.0.args.add(i), out, err) }).map(Value)
    }
}

type Watcher = dyn Fn(&Event) -> Watch + Send + Sync;

extern "C" fn see(context: *mut c_void, event: *const ffi::Event) -> c_int {
    let watcher = unsafe { &*(context as *const Box<Watcher>) };

    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| watcher(&Event(unsafe { &*event }))))
        .unwrap_or(Watch::Stop) as c_int
}

/// Allocates the memory of tensors. Several threads may call it at the same time. It must not call the model.
///
/// # Safety
/// `allocate` must return `bytes` bytes of the device's memory (DLPack's type and number) at a multiple of `align`, a power
/// of two of at least 64. They must not be used for anything else until they are released. Null means out of memory.
pub unsafe trait Allocator: Send + Sync {
    fn allocate(&self, device: (i32, i32), bytes: usize, align: usize) -> *mut u8;
    /// # Safety
    /// `data` must come from `allocate`, with the same device and number of bytes.
    unsafe fn release(&self, device: (i32, i32), data: *mut u8, bytes: usize);
}

extern "C" fn allocate(context: *mut c_void, device: ffi::Device, bytes: usize, align: usize) -> *mut c_void {
    let heard = unsafe { &*(context as *const Heard) };
    let device = (device.device_type, device.device_id);
    let give = || heard.allocator.as_ref().map_or(ptr::null_mut(), |a| a.allocate(device, bytes, align));

    std::panic::catch_unwind(std::panic::AssertUnwindSafe(give)).unwrap_or(ptr::null_mut()).cast()
}

extern "C" fn release(context: *mut c_void, device: ffi::Device, data: *mut c_void, bytes: usize) {
    if let Some(a) = unsafe { &(*(context as *const Heard)).allocator } {
        let device = (device.device_type, device.device_id);
        let take = || unsafe { a.release(device, data.cast(), bytes) };
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(take));
    }
}

/// Callbacks that receive events while a model is opened and called.
#[derive(Default)]
struct Heard {
    allocator: Option<Box<dyn Allocator>>,
    log: Option<Box<dyn Fn(&str) + Send + Sync>>,
    loaded: Option<Box<dyn Fn(u64) + Send + Sync>>,
    watchers: Mutex<Vec<Box<Box<Watcher>>>>, // also those that were: a call may be in one
}

extern "C" fn hear_log(context: *mut c_void, text: *const c_char) {
    if let Some(log) = unsafe { &(*(context as *const Heard)).log } {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| log(&text_at(text))));
    }
}

extern "C" fn hear_loaded(context: *mut c_void, bytes: u64) {
    if let Some(loaded) = unsafe { &(*(context as *const Heard)).loaded } {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| loaded(bytes)));
    }
}

/// Options for opening a model.
#[derive(Default)]
pub struct Options {
    device: [i32; 2],
    threads: u32,
    budget: u64,
    flags: u32,
    heard: Heard,
}

impl Options {
    pub fn new() -> Self {
        Self::default()
    }
    /// Sets the device: its type as in DLPack, and its number. Default: the device that the model's code is for.
    pub fn device(mut self, device_type: i32, id: i32) -> Self {
        self.device = [device_type, id];
        self
    }
    /// Sets the number of threads for parallel loops, including the caller's.
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }
    /// Limits the bytes of the model's tensors, separately on the host and on its device.
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = bytes;
        self
    }
    /// Sets the allocator for the model's tensors; also for its device, if device memory has addresses (CUDA, ROCm).
    pub fn allocator(mut self, allocator: impl Allocator + 'static) -> Self {
        self.heard.allocator = Some(Box::new(allocator));
        self
    }
    /// Loads the file itself instead of a copy, so that debuggers and profilers show names.
    pub fn by_path(mut self) -> Self {
        self.flags |= 1;
        self
    }
    /// Writes names of code in memory to /tmp/perf-PID.map, where perf(1) looks for them.
    pub fn perf_map(mut self) -> Self {
        self.flags |= 2;
        self
    }
    /// Sets a callback for text that the model prints.
    pub fn log(mut self, log: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.heard.log = Some(Box::new(log));
        self
    }
    /// Sets a callback for progress: the number of bytes of weights copied to their devices.
    pub fn loaded(mut self, loaded: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.heard.loaded = Some(Box::new(loaded));
        self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    Device,
    Function,
    State,
}

/// A function that a model needs from the application: `struct mpkr_requirement`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub kind: Required,
    pub name: String,
    /// The type of a device, as in DLPack.
    pub device_type: i32,
    pub is_met: bool,
}

/// Bytes that a model's tensors use: `struct mpkr_usage`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    size: usize,
    pub weights: u64,
    pub caches: u64,
    pub scratch: u64,
    pub kept: u64,
    pub used: u64,
    pub most: u64,
}

/// Bytes that a call will need: `struct mpkr_need`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    size: usize,
    pub weights: u64,
    pub caches: u64,
    pub inputs: u64,
    pub scratch: u64,
    pub results: u64,
    pub need: u64,
    is_least: c_int,
}

impl Need {
    /// Whether the call may need more, because the code does not tell everything.
    pub fn is_least(&self) -> bool {
        self.is_least != 0
    }
}

/// The time of an operator on a device.
#[derive(Clone, Debug)]
pub struct Measured {
    pub name: String,
    pub kind: Operator,
    pub device: (i32, i32),
    pub calls: u64,
    pub total: Duration,
    pub min: Duration,
    pub max: Duration,
    pub share: f64,
}

/// Where a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub name: String,
    pub function: String,
    pub before: String,
    pub instruction: Option<usize>,
}

/// Keeps a function registered, so that the model can call it by name; dropping it unregisters the function.
pub struct Registration<'a> {
    model: &'a Model,
    name: CString,
    body: *mut Box<Body>,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        unsafe {
            // waits until no call of the function is in progress
            ffi::mpkr_register(self.model.0, self.name.as_ptr(), None, ptr::null_mut(), ptr::null_mut());
            drop(Box::from_raw(self.body));
        }
    }
}

pub struct Model(*mut ffi::Model, Listeners);

unsafe impl Send for Model {}
unsafe impl Sync for Model {}

impl Model {
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        Self::open_with(path, Options::new())
    }
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Model> {
        let path = text_of(path.as_ref().to_str().ok_or_else(|| Error::usage("a path that is not UTF-8"))?)?;
        let heard = Arc::new(options.heard);
        let memory = ffi::Memory {
            size: mem::size_of::<ffi::Memory>(),
            budget: options.budget,
            allocate: heard.allocator.as_ref().map(|_| allocate as ffi::Allocate),
            release: heard.allocator.as_ref().map(|_| release as ffi::Give),
            context: Arc::as_ptr(&heard) as *mut c_void,
        };
        let context = memory.context;
        let options = ffi::Options {
            size: mem::size_of::<ffi::Options>(),
            device: options.device,
            threads: options.threads,
            flags: options.flags,
            tvm_ffi: ptr::null(),
            cuda_home: ptr::null(),
            stream: ptr::null_mut(),
            loaded: heard.loaded.as_ref().map(|_| hear_loaded as extern "C" fn(*mut c_void, u64)),
            loaded_context: context,
            log: heard.log.as_ref().map(|_| hear_log as extern "C" fn(*mut c_void, *const c_char)),
            log_context: context,
            host_memory: &memory,
            device_memory: &memory,
            parallel_for: ptr::null(),
            parallel_context: ptr::null_mut(),
        };

        take(|out, err| unsafe { ffi::mpkr_open(path.as_ptr(), &options, out, err) }).map(|m| Model(m, heard))
    }
    /// Calls a function for every operator of the model's calls, until `unwatch`. If the function panics, the call ends.
    ///
    /// # Safety
    /// No thread may be in a call of the model. The same applies to `unwatch`, `profile_begin` and `profile_end`.
    pub unsafe fn watch(&self, watcher: impl Fn(&Event) -> Watch + Send + Sync + 'static) {
        let kept: Box<Box<Watcher>> = Box::new(Box::new(watcher));

        ffi::mpkr_watch(self.0, Some(see), &*kept as *const Box<Watcher> as *mut c_void);
        self.1.watchers.lock().unwrap_or_else(|e| e.into_inner()).push(kept);
    }
    /// # Safety
    /// As for `watch`.
    pub unsafe fn unwatch(&self) {
        ffi::mpkr_watch(self.0, None, ptr::null_mut());
    }
    /// Starts to measure the operators of calls.
    ///
    /// # Safety
    /// As for `watch`.
    pub unsafe fn profile_begin(&self) {
        ffi::mpkr_profile(self.0, 1);
    }
    /// Ends measuring, and returns the operators, the slowest first.
    ///
    /// # Safety
    /// As for `watch`.
    pub unsafe fn profile_end(&self) -> Vec<Measured> {
        let mut rows = Vec::new();
        let mut row: ffi::Row = mem::zeroed();
        let time = |n: i64| Duration::from_nanos(n as u64);

        ffi::mpkr_profile(self.0, 0);
        row.size = mem::size_of::<ffi::Row>();
        while ffi::mpkr_profile_at(self.0, rows.len(), &mut row, ptr::null_mut()) == 0 {
            rows.push(Measured {
                name: text_at(row.name),
                kind: Operator::of(row.kind),
                device: (row.device[0], row.device[1]),
                calls: row.calls,
                total: time(row.total),
                min: time(row.min),
                max: time(row.max),
                share: row.share,
            });
        }
        rows
    }
    /// Returns the model's metadata as JSON; models of MLC-LLM have some.
    pub fn metadata(&self) -> Result<Option<String>> {
        match take(|out, err| unsafe { ffi::mpkr_metadata(self.0, out, err) }) {
            Ok(text) => Ok(Some(text_at(text))),
            Err(e) if e.code == NOT_FOUND => Ok(None),
            Err(e) => Err(e),
        }
    }
    /// Lists the functions that the model needs, available or not.
    pub fn requirements(&self) -> Result<Vec<Requirement>> {
        let mut all = Vec::new();
        let mut r: ffi::Requirement = unsafe { mem::zeroed() };

        r.size = mem::size_of::<ffi::Requirement>();
        loop {
            let next =
                take(|_: *mut (), err| unsafe { ffi::mpkr_requirement_at(self.0, all.len(), &mut r, err) });

            match next {
                Ok(()) => all.push(Requirement {
                    kind: match r.kind {
                        0 => Required::Device,
                        1 => Required::Function,
                        _ => Required::State,
                    },
                    name: text_at(r.name),
                    device_type: r.device_type,
                    is_met: r.is_met != 0,
                }),
                Err(e) if e.code == NOT_FOUND => return Ok(all),
                Err(e) => return Err(e),
            }
        }
    }
    /// Returns the host memory of the model's tensors: current and peak bytes.
    pub fn memory_now(&self) -> Result<Usage> {
        self.memory_of(CPU)
    }
    /// Returns the same for devices of another type, as in DLPack; all memory except host memory is counted together.
    pub fn memory_of(&self, device_type: i32) -> Result<Usage> {
        let mut usage = Usage { size: mem::size_of::<Usage>(), ..Usage::default() };

        take(|_: *mut (), err| unsafe { ffi::mpkr_memory_now(self.0, device_type, &mut usage, err) })?;
        Ok(usage)
    }
    /// Returns the memory that a call will need according to the code; without a name, for the function that needs most.
    pub fn memory_need(&self, name: Option<&str>, extents: &[(&str, i64)]) -> Result<Need> {
        let name = name.map(text_of).transpose()?;
        let names = extents.iter().map(|e| text_of(e.0)).collect::<Result<Vec<_>>>()?;
        let list: Vec<ffi::Extent> = names
            .iter()
            .zip(extents)
            .map(|(name, e)| ffi::Extent { name: name.as_ptr(), extent: e.1 })
            .collect();
        let mut need = Need { size: mem::size_of::<Need>(), ..Need::default() };
        let name = name.as_ref().map_or(ptr::null(), |n| n.as_ptr());

        take(|_: *mut (), err| unsafe {
            ffi::mpkr_memory_need(self.0, name, list.as_ptr(), list.len(), &mut need, err)
        })?;
        Ok(need)
    }
    /// Frees memory that is kept for later calls.
    pub fn memory_trim(&self) {
        unsafe { ffi::mpkr_memory_trim(self.0) }
    }
    /// Makes a value of a function of the application, for functions that take functions; the model may keep it.
    pub fn callback<F>(&self, name: &str, body: F) -> Result<Value>
    where
        F: Fn(&Call) -> Result<Option<Value>> + Send + Sync + 'static,
    {
        let name = text_of(name)?;
        let body: *mut Box<Body> = Box::into_raw(Box::new(Box::new(body)));

        take(|out, err| unsafe {
            ffi::mpkr_value_callback(self.0, name.as_ptr(), enter, body.cast(), Some(let_go), out, err)
        })
        .map(Value)
        .map_err(|e| {
            drop(unsafe { Box::from_raw(body) });
            e
        })
    }
    /// Binds the tensors of a file. Returns how many of them are used.
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

        take(|out, err| unsafe { ffi::mpkr_find(self.0, name.as_ptr(), out, err) })
            .map(|f| Function(f, Arc::clone(&self.1)))
    }
    /// Registers a function of the application, so that the model can call it by name.
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
