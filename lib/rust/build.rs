// SPDX-License-Identifier: Apache-2.0
//! Links libmpk-run. If the linker does not find it, set MPK_RUN_LIB_DIR to its folder.
fn main() {
    println!("cargo:rerun-if-env-changed=MPK_RUN_LIB_DIR");
    if let Ok(folder) = std::env::var("MPK_RUN_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
    }
    println!("cargo:rustc-link-lib=mpk-run");
}
