// SPDX-License-Identifier: Apache-2.0
use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use futures_util::TryStreamExt;
use mongodb::bson::{doc, oid::ObjectId, Bson, Document};
use mongodb::gridfs::GridFsBucket;
use mongodb::options::GridFsBucketOptions;
use mongodb::Database;
use sha2::{Digest, Sha256};

fn content(name: &str, size: usize) -> Vec<u8> {
    let block: Vec<u8> = (0..2048).flat_map(|i| Sha256::digest(format!("{name} {i}"))).collect();
    block.iter().copied().cycle().take(size).collect()
}

async fn upload(b: &GridFsBucket, name: &str, data: &[u8], metadata: Document) -> ObjectId {
    let mut stream = b.open_upload_stream(name).metadata(metadata).await.unwrap();
    stream.write_all(data).await.unwrap();
    stream.close().await.unwrap();
    stream.id().as_object_id().unwrap()
}

async fn by_name(b: &GridFsBucket, name: &str, revision: i32) -> Vec<u8> {
    let mut out = Vec::new();
    let mut stream = b.open_download_stream_by_name(name).revision(revision).await.unwrap();
    stream.read_to_end(&mut out).await.unwrap();
    out
}

async fn find(b: &GridFsBucket, filter: Document) -> Vec<Bson> {
    let cursor = b.find(filter).sort(doc! {"uploadDate": -1}).await.unwrap();
    cursor.map_ok(|file| file.id).try_collect().await.unwrap()
}

async fn other_bucket(db: &Database, data: &[u8]) {
    let options = GridFsBucketOptions::builder().bucket_name("rust".to_string()).chunk_size_bytes(1000).build();
    let other = db.gridfs_bucket(options);
    upload(&other, "small chunks", &data[..12345], doc! {}).await;
    assert!(by_name(&other, "small chunks", -1).await == data[..12345]);
    let mut aborted = other.open_upload_stream("aborted").await.unwrap();
    aborted.write_all(&data[..5000]).await.unwrap();
    aborted.abort().await.unwrap();
    assert!(find(&other, doc! {"filename": "aborted"}).await.is_empty());
    other.drop().await.unwrap();
    assert!(find(&other, doc! {}).await.is_empty());
}

async fn all(db: &Database, b: &GridFsBucket, name: &str, data: &[u8]) {
    let backwards: Vec<u8> = data.iter().rev().copied().collect();
    let first = upload(b, name, data, doc! {"color": "red"}).await;
    let second = upload(b, name, &backwards, doc! {"color": "blue"}).await;
    let mut got = Vec::new();
    b.open_download_stream(first.into()).await.unwrap().read_to_end(&mut got).await.unwrap();
    assert!(got == data, "wrong bytes");
    assert!(by_name(b, name, -1).await == backwards, "newest revision");
    assert!(by_name(b, name, 0).await == data, "first revision");
    assert_eq!(find(b, doc! {"filename": name, "metadata.color": "blue"}).await, [Bson::from(second)]);
    let renamed = format!("{name} renamed");
    b.rename(first.into(), &renamed).await.unwrap();
    assert_eq!(find(b, doc! {"filename": &renamed}).await, [Bson::from(first)]);
    assert_eq!(find(b, doc! {"filename": name}).await, [Bson::from(second)]);
    b.delete(first.into()).await.unwrap();
    b.delete(second.into()).await.unwrap();
    assert!(b.delete(first.into()).await.is_err(), "a deleted file is deleted again");
    assert!(b.open_download_stream(first.into()).await.is_err(), "a deleted file opens");
    assert!(b.open_download_stream_by_name(&renamed).await.is_err(), "a deleted name opens");
    let chunks = db.collection::<Document>("fs.chunks");
    assert_eq!(chunks.count_documents(doc! {"files_id": {"$in": [first, second]}}).await.unwrap(), 0);
    other_bucket(db, data).await;
}

pub async fn run(db: &Database, action: &str, name: &str, size: usize) {
    let b = db.gridfs_bucket(None);
    let data = content(name, size);
    match action {
        "upload" => {
            upload(&b, name, &data, doc! {"made": "by rust"}).await;
        }
        "verify" => {
            let got = by_name(&b, name, -1).await;
            assert!(got == data, "wrong bytes");
            let hex: String = Sha256::digest(&got).iter().map(|byte| format!("{byte:02x}")).collect();
            println!("{hex}");
        }
        _ => all(db, &b, name, &data).await,
    }
}
