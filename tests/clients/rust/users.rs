// SPDX-License-Identifier: Apache-2.0
use mongodb::bson::{doc, Document};
use mongodb::error::Result;
use mongodb::Database;

async fn act(files: &Database, action: &str, name: &str) -> Result<()> {
    let coll = files.collection::<Document>("c");
    match action {
        "insert" => coll.insert_one(doc! {"by": name}).await.map(drop),
        "read" => coll.find_one(doc! {"by": name}).await.map(|found| assert!(found.is_some())),
        _ => files.run_command(doc! {"createUser": name, "pwd": "crayon", "roles": ["read"]}).await.map(drop),
    }
}

/// One thing done as whom the URI names, and what was said of it.
pub async fn run(files: &Database, action: &str, name: &str) {
    match act(files, action, name).await {
        Ok(()) => println!("done"),
        Err(error) => println!("{error}"),
    }
}
