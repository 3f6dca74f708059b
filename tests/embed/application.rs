// SPDX-License-Identifier: Apache-2.0
//! application.rs - a model that calls this program, is stopped, and whose cache is saved, by lib/rust:
//! application REGISTERED DECODER
use mpk_run::{Error, Model, Result, View};

fn calls(path: &str) -> Result<()> {
    let model = Model::open(path)?;
    let x = [1f32, 2.0, 3.0, 4.0];
    let _identity = model.register("test.vm.identity", |call| {
        let (from, mut to) = (call.tensor(0)?, call.tensor(1)?);

        for (t, f) in to.as_mut_slice::<f32>()?.iter_mut().zip(from.as_slice::<f32>()?) {
            *t = 10.0 * f;
        }
        Ok(None)
    })?;
    let _add = model.register("test.vm.add", |_| Err(Error::raised("ValueError: no")))?;
    let f = model.find("identity")?;

    println!("{:?}", f.call(&[View::new(&x, &[1, 4])?.into()])?[0].as_slice::<f32>()?);
    f.stop();
    println!("{}", f.call(&[View::new(&x, &[1, 4])?.into()]).err().map_or(0, |e| e.code));
    f.resume();
    let (a, b) = (View::new(&x, &[4])?, View::new(&x, &[4])?);
    println!("{:?}", model.find("add")?.call(&[a.into(), b.into()]).err().map(|e| e.text));
    Ok(())
}

fn saves(path: &str) -> Result<()> {
    let model = Model::open(path)?;
    let sizes = [1, 64, 32, 16, 0].iter().map(|&n| model.shape(&[n])).collect::<Result<Vec<_>>>()?;
    let args = || sizes.iter().map(Into::into).collect::<Vec<_>>();
    let create = model.find("create_paged_kv_cache")?;
    let (cache, mut other) = (create.call_value(&args())?, create.call_value(&args())?);
    let id = model.number(7)?;

    model.find("vm.builtin.kv_state_add_sequence")?.call_value(&[(&cache).into(), (&id).into()])?;
    let bytes = cache.save(&[7])?;
    other.load(&bytes)?;
    println!("{}", other.save(&[])? == bytes);
    println!("{}", other.load(&bytes[..20]).is_err());
    Ok(())
}

fn main() -> Result<()> {
    let paths: Vec<String> = std::env::args().collect();

    calls(&paths[1])?;
    saves(&paths[2])
}
