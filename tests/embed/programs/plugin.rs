// SPDX-License-Identifier: Apache-2.0
//! plugin.rs - plugin.c by lib/rust, as a cdylib
use mpk_run::{Model, Result, View};
use std::ffi::{c_char, CStr};

fn classify(path: &str, step: f32) -> Result<i32> {
    let (mut data, extra) = ([0f32; 40], [0f32; 24]);

    data[0] = step;
    let y = Model::open(path)?
        .find("default")?
        .call(&[View::new(&data, &[2, 20])?.into(), View::new(&extra, &[2, 12])?.into()])?;
    let scores = &y[0].as_slice::<f32>()?[..12];

    Ok((0..12).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).map_or(-1, |i| i as i32))
}

/// # Safety
/// path is a text that ends with NUL.
#[no_mangle]
pub unsafe extern "C" fn plugin_classify(path: *const c_char, step: f32) -> i32 {
    CStr::from_ptr(path).to_str().ok().and_then(|path| classify(path, step).ok()).unwrap_or(-1)
}
