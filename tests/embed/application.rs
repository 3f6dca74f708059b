// SPDX-License-Identifier: Apache-2.0
//! application.rs - a model that calls this program, is stopped, and whose cache is saved, by lib/rust:
//! application REGISTERED DECODER
use mpk_run::{Allocator, Error, Model, Operator, Options, Required, Result, View, Watch};
use std::alloc::{alloc, dealloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

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
    let add = model.find("add")?;

    println!("{:?}", add.call(&[a.into(), b.into()]).err().map(|e| e.text));
    println!("{:?}", add.failed_at().map(|at| (at.name, at.function)));
    Ok(())
}

/// Watched and measured, within a budget; a function is an argument.
fn looks(path: &str) -> Result<()> {
    let seen = Arc::new(AtomicUsize::new(0));
    let (counts, x) = (Arc::clone(&seen), [1f32, 2.0, 3.0, 4.0]);
    let options = Options::new().threads(2).budget(1 << 20).log(|text| println!("log: {text}")).loaded(|_| ());
    let model = Model::open_with(path, options)?;
    let _add = model.register("test.vm.add", |call| call.hold(0).map(Some))?;
    let f = model.find("add")?;
    let call = || f.call(&[View::new(&x, &[4])?.into(), View::new(&x, &[4])?.into()]);

    // nobody else calls
    unsafe {
        model.profile_begin();
        model.watch(move |e| {
            counts.fetch_add(usize::from(e.kind() == Operator::Kernel && !e.is_end()), Ordering::Relaxed);
            Watch::GoOn
        });
    }
    call()?;
    unsafe { model.watch(|_| Watch::Stop) };
    println!("{:?}", call().err().map(|e| e.code));
    unsafe { model.unwatch() };
    let rows = unsafe { model.profile_end() };
    println!("{} {}", seen.load(Ordering::Relaxed), rows.iter().any(|r| r.name == "test.vm.add" && r.calls == 1));
    println!("{}", model.memory_now()?.most > 0);
    println!("{}", model.memory_need(Some("add"), &[("n", 4)])?.inputs);
    println!("{:?}", Model::open_with(path, Options::new().budget(1))?.number(1).err().map(|e| e.code));

    let same = model.callback("same", |call| call.hold(0).map(Some))?;
    let (invoke, seven, add) = (model.find("vm.builtin.invoke_closure")?, model.number(7)?, f.value()?);

    println!("{:?}", invoke.call(&[(&same).into(), (&seven).into()])?[0].as_slice::<i64>()?);
    let y = invoke.call(&[(&add).into(), View::new(&x, &[4])?.into(), View::new(&x, &[4])?.into()])?;
    println!("{:?}", y[0].as_slice::<f32>()?);
    Ok(())
}

/// The system's memory, counted.
struct Counted(Arc<AtomicUsize>);

unsafe impl Allocator for Counted {
    fn allocate(&self, _: (i32, i32), bytes: usize, align: usize) -> *mut u8 {
        self.0.fetch_add(bytes, Ordering::Relaxed);
        // room for where it begins
        unsafe {
            let room = alloc(Layout::from_size_align_unchecked(bytes + align, align));

            if room.is_null() {
                return room;
            }
            room.add(align - 8).cast::<usize>().write(align);
            room.add(align)
        }
    }
    unsafe fn release(&self, _: (i32, i32), data: *mut u8, bytes: usize) {
        let align = data.sub(8).cast::<usize>().read();

        self.0.fetch_sub(bytes, Ordering::Relaxed);
        dealloc(data.sub(align), Layout::from_size_align_unchecked(bytes + align, align));
    }
}

/// What a model says and needs; its memory is the application's.
fn asks(registered: &str, decoder: &str) -> Result<()> {
    let held = Arc::new(AtomicUsize::new(0));
    let model = Model::open_with(registered, Options::new().by_path().allocator(Counted(Arc::clone(&held))))?;
    let needed = |name: &str| model.requirements().map(|all| all.into_iter().find(|r| r.name == name));

    println!("{:?}", needed("test.vm.add")?.map(|r| (r.kind, r.is_met)));
    let add = model.register("test.vm.add", |call| call.hold(0).map(Some))?;
    println!("{:?}", needed("test.vm.add")?.map(|r| (r.kind, r.is_met)));
    println!("{:?}", model.metadata()?);
    let x = [1f32, 2.0, 3.0, 4.0];
    let y = model.find("add")?.call(&[View::new(&x, &[4])?.into(), View::new(&x, &[4])?.into()])?;

    println!("{}", held.load(Ordering::Relaxed) > 0);
    drop((y, add));
    drop(model);
    println!("{}", held.load(Ordering::Relaxed));
    let states = Model::open(decoder)?.requirements()?;
    println!("{}", states.iter().any(|r| r.kind == Required::State && r.is_met));
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
    looks(&paths[1])?;
    asks(&paths[1], &paths[2])?;
    saves(&paths[2])
}
