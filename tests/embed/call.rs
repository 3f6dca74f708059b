// SPDX-License-Identifier: Apache-2.0
//! call.rs - mpk/run.h from Rust, by declarations alone: rustc call.rs -L DIR -l mpk-run
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    version: [u32; 2],
    ctx: *mut c_void,
    deleter: extern "C" fn(*mut Managed),
    flags: u64,
    tensor: Tensor,
}

#[repr(C)]
struct Error {
    code: c_int,
    text: [c_char; 1020],
}

extern "C" {
    fn mpkr_open(path: *const c_char, options: *const c_void, out: *mut *mut c_void, err: *mut Error) -> c_int;
    fn mpkr_close(model: *mut c_void);
    fn mpkr_find(model: *mut c_void, name: *const c_char, out: *mut *mut c_void, err: *mut Error) -> c_int;
    fn mpkr_drop(function: *mut c_void);
    fn mpkr_call(
        function: *mut c_void,
        inputs: *const *const Tensor,
        n: usize,
        results: *mut *mut Managed,
        room: usize,
        count: *mut usize,
        err: *mut Error,
    ) -> c_int;
}

/// A function of a model; it keeps the model.
struct Function(*mut c_void);

impl Drop for Function {
    fn drop(&mut self) {
        unsafe { mpkr_drop(self.0) }
    }
}

fn check(code: c_int, err: &Error) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(err.text.as_ptr()) }.to_string_lossy().into_owned())
}

fn load(path: &str, name: &str) -> Result<Function, String> {
    let mut err = Error { code: 0, text: [0; 1020] };
    let (mut model, mut function) = (ptr::null_mut(), ptr::null_mut());
    let (path, name) = (CString::new(path).unwrap(), CString::new(name).unwrap());
    check(unsafe { mpkr_open(path.as_ptr(), ptr::null(), &mut model, &mut err) }, &err)?;
    let found = unsafe { mpkr_find(model, name.as_ptr(), &mut function, &mut err) };
    unsafe { mpkr_close(model) };
    check(found, &err)?;
    Ok(Function(function))
}

/// The first result of a call with one input of float32.
fn call(f: &Function, x: &mut [f32], shape: &[i64]) -> Result<Vec<f32>, String> {
    let mut err = Error { code: 0, text: [0; 1020] };
    let t = Tensor {
        data: x.as_mut_ptr().cast(),
        device: [1, 0],
        ndim: shape.len() as i32,
        code: 2,
        bits: 32,
        lanes: 1,
        shape: shape.as_ptr(),
        strides: ptr::null(),
        byte_offset: 0,
    };
    let (inputs, mut result, mut count) = ([&t as *const Tensor], ptr::null_mut(), 0);
    check(unsafe { mpkr_call(f.0, inputs.as_ptr(), 1, &mut result, 1, &mut count, &mut err) }, &err)?;
    unsafe {
        let t = &(*result).tensor;
        let len: i64 = (0..t.ndim as usize).map(|i| *t.shape.add(i)).product();
        let made = std::slice::from_raw_parts(t.data as *const f32, len as usize).to_vec();
        ((*result).deleter)(result);
        Ok(made)
    }
}

fn main() -> Result<(), String> {
    let path = std::env::args().nth(1).ok_or("call MODEL")?;
    let f = load(&path, "forward")?;
    println!("{} numbers", call(&f, &mut [0.5; 96], &[4, 24])?.len());
    println!("{}", call(&f, &mut [0.5; 96], &[24, 4]).unwrap_err());
    Ok(())
}
