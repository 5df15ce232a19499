// SPDX-License-Identifier: Apache-2.0
//! The mongodb crate against a server.
//! usage: client URI gridfs upload|verify|all NAME SIZE   (the same bytes as pymongo_gridfs.py makes)
//!        client URI crud all|mark|resume FILE            (FILE keeps a resume token between two runs)
//!        client URI users insert|read|create NAME        (prints "done", or the error)
mod crud;
mod gridfs;
mod users;

use mongodb::Client;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let client = Client::with_uri_str(&args[1]).await.unwrap();
    match args[2].as_str() {
        "gridfs" => gridfs::run(&client.database("test"), &args[3], &args[4], args[5].parse().unwrap()).await,
        "users" => users::run(&client.database("files"), &args[3], &args[4]).await,
        _ => crud::run(&client, &args[3], &args[4]).await,
    }
}
