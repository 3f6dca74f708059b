// SPDX-License-Identifier: Apache-2.0
//! program.rs - a classifier, a generator that is stopped, saved and resumed, a server of four sessions, by lib/rust
//!
//!     program classify MODEL
//!     program generate MODEL FILE begin|go-on
//!     program serve MODEL
use mpk_run::{Error, Function, Model, Result, Value, View};
use std::{env, fs, process, thread};

const STOPPED: i32 = 11;

fn best(scores: &[f32]) -> usize {
    (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}

fn classify(path: &str) -> Result<()> {
    let model = Model::open(path)?;
    let f = model.find("default")?;
    let (mut data, extra) = ([0f32; 40], [0f32; 24]);

    for step in 0..3 {
        data[0] = step as f32;
        let scores = f.call(&[View::new(&data, &[2, 20])?.into(), View::new(&extra, &[2, 12])?.into()])?;

        println!("class {}", best(&scores[0].as_slice::<f32>()?[..12]));
    }
    Ok(())
}

/// One sequence, number 0, in a cache of its own, with functions of sessions of its own: texts of several threads wait for
/// none of another.
struct Text<'a> {
    model: &'a Model,
    embed: Function,
    prefill: Function,
    decode: Function,
    begin: Function,
    end: Function,
    pop: Function,
    zero: Value,
    first: Value,
    cache: Value,
}

impl<'a> Text<'a> {
    fn new(model: &'a Model) -> Result<Self> {
        let find = |name: &str| model.find(name)?.session();
        let sizes = [1, 64, 32, 16, 0].iter().map(|&n| model.shape(&[n])).collect::<Result<Vec<_>>>()?;
        let args: Vec<_> = sizes.iter().map(Into::into).collect();

        Ok(Text {
            model,
            embed: find("embed")?,
            prefill: find("prefill")?,
            decode: find("decode")?,
            begin: find("vm.builtin.kv_state_begin_forward")?,
            end: find("vm.builtin.kv_state_end_forward")?,
            pop: find("vm.builtin.kv_state_popn")?,
            zero: model.number(0)?,
            first: model.shape(&[0])?,
            cache: model.find("create_paged_kv_cache")?.call_value(&args)?,
        })
    }
    fn add(&self) -> Result<()> {
        let add = self.model.find("vm.builtin.kv_state_add_sequence")?;

        add.call_value(&[(&self.cache).into(), (&self.zero).into()]).map(drop)
    }
    fn forward(&self, tokens: &[i32]) -> Result<Value> {
        let count = tokens.len() as i64;
        let hidden = self.embed.call(&[View::new(tokens, &[count])?.into()])?;
        let shape = [1, count, hidden[0].shape()[1]];
        let x = View::new(hidden[0].as_slice::<f32>()?, &shape)?;

        if count > 1 { &self.prefill } else { &self.decode }.call_value(&[x.into(), (&self.cache).into()])
    }
    /// The likeliest token after some. Of a call that was stopped the cache has nothing afterwards.
    fn feed(&self, tokens: &[i32]) -> Result<i32> {
        let count = tokens.len() as i64;
        let length = self.model.shape(&[count])?;

        self.begin.call_value(&[(&self.cache).into(), (&self.first).into(), (&length).into()])?;
        let both = self.forward(tokens);

        self.end.call_value(&[(&self.cache).into()])?;
        if both.is_err() {
            let count = self.model.number(count)?;

            self.pop.call_value(&[(&self.cache).into(), (&self.zero).into(), (&count).into()])?;
        }
        Ok(best(both?.item(0)?.tensor()?.as_slice::<f32>()?) as i32)
    }
}

fn generate(path: &str, file: &str, is_new: bool) -> Result<()> {
    let model = Model::open(path)?;
    let mut text = Text::new(&model)?;
    let io = |e: std::io::Error| Error::raised(e.to_string());
    let mut stopped = false;
    let mut token;

    if is_new {
        text.add()?;
        token = text.feed(&[3, 1, 4, 1, 5])?;
    } else {
        let bytes = fs::read(file).map_err(io)?;

        token = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        text.cache.load(&bytes[4..])?;
    }
    for i in 0..6 {
        if is_new && i == 4 {
            // somebody does not want to wait any longer
            thread::scope(|s| s.spawn(|| text.decode.stop()).join()).map_err(|_| Error::raised("a thread"))?;
        }
        match text.feed(&[token]) {
            Ok(next) => print!("{} ", std::mem::replace(&mut token, next)),
            Err(e) if e.code == STOPPED => {
                stopped = true;
                break;
            }
            Err(e) => return Err(e),
        }
    }
    println!("{}", if stopped { "stopped" } else { "" });
    // what is left to feed goes before the cache
    fs::write(file, [&token.to_le_bytes()[..], &text.cache.save(&[])?].concat()).map_err(io)
}

fn serve(path: &str) -> Result<()> {
    let model = Model::open(path)?;
    let client = |first: i32| -> Result<Vec<i32>> {
        let text = Text::new(&model)?;
        let mut said = Vec::new();

        text.add()?;
        let mut token = text.feed(&[first, 1, 4, 1, 5])?;
        for _ in 0..8 {
            said.push(token);
            token = text.feed(&[token])?;
        }
        Ok(said)
    };
    let client = &client;
    let all: Vec<_> = thread::scope(|s| {
        let threads: Vec<_> = (3..7).map(|first| s.spawn(move || client(first))).collect();
        threads.into_iter().map(|t| t.join()).collect()
    });

    for said in all {
        let said = said.map_err(|_| Error::raised("a thread"))??;
        println!("{}", said.iter().map(i32::to_string).collect::<Vec<_>>().join(" "));
    }
    Ok(())
}

fn main() {
    let args: Vec<String> = env::args().collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[1..] {
        ["classify", model] => classify(model),
        ["generate", model, file, how] => generate(model, file, how == "begin"),
        ["serve", model] => serve(model),
        _ => process::exit(2),
    };

    if let Err(e) = done {
        eprintln!("{e}");
        process::exit(1);
    }
}
