// SPDX-License-Identifier: Apache-2.0
use futures_util::TryStreamExt;
use mongodb::bson::{doc, Bson, Document};
use mongodb::change_stream::event::{ChangeStreamEvent, OperationType, ResumeToken};
use mongodb::error::{Error, ErrorKind, WriteFailure};
use mongodb::options::{FullDocumentType, IndexOptions, ReturnDocument};
use mongodb::{Client, Collection, IndexModel};

type Documents = Collection<Document>;

async fn empty(client: &Client, name: &str) -> Documents {
    let c = client.database("rust").collection(name);
    c.drop().await.unwrap();
    c
}

fn code(error: Error) -> i32 {
    match *error.kind {
        ErrorKind::Command(error) => error.code,
        ErrorKind::Write(WriteFailure::WriteError(error)) => error.code,
        other => panic!("{other}"),
    }
}

async fn everyday(c: &Documents) {
    assert_eq!(c.insert_one(doc! {"_id": 1, "n": 1}).await.unwrap().inserted_id, Bson::Int32(1));
    c.insert_many([doc! {"_id": 2, "n": 2}, doc! {"_id": 3, "n": 3}]).await.unwrap();
    assert_eq!(code(c.insert_one(doc! {"_id": 1}).await.unwrap_err()), 11000);
    let updated = c.update_many(doc! {"n": {"$gte": 2}}, doc! {"$inc": {"n": 10}}).await.unwrap();
    assert_eq!(updated.modified_count, 2);
    let upserted = c.update_one(doc! {"_id": 4}, doc! {"$set": {"n": 4}}).upsert(true).await.unwrap();
    assert_eq!(upserted.upserted_id, Some(Bson::Int32(4)));
    let found = c.find(doc! {}).sort(doc! {"n": -1}).limit(2).projection(doc! {"n": 1}).await.unwrap();
    let found: Vec<Document> = found.try_collect().await.unwrap();
    assert_eq!(found, [doc! {"_id": 3, "n": 13}, doc! {"_id": 2, "n": 12}]);
    let after = c.find_one_and_update(doc! {"_id": 4}, doc! {"$set": {"n": 5}}).return_document(ReturnDocument::After);
    assert_eq!(after.await.unwrap(), Some(doc! {"_id": 4, "n": 5}));
    assert_eq!(c.find_one(doc! {"_id": 99}).await.unwrap(), None);
    assert_eq!(c.count_documents(doc! {"n": {"$gt": 1}}).await.unwrap(), 3);
    assert_eq!(c.distinct("n", doc! {}).await.unwrap().len(), 4);
    let sums = c.aggregate([doc! {"$group": {"_id": null, "sum": {"$sum": "$n"}}}]).await.unwrap();
    let sums: Vec<Document> = sums.try_collect().await.unwrap();
    assert_eq!(sums, [doc! {"_id": null, "sum": 31}]);
    assert_eq!(c.delete_many(doc! {"_id": {"$in": [3, 4]}}).await.unwrap().deleted_count, 2);
}

async fn many(c: &Documents) {
    let docs: Vec<Document> = (0..5000).map(|i| doc! {"_id": i}).collect();
    c.insert_many(&docs).await.unwrap();
    let read: Vec<Document> = c.find(doc! {}).sort(doc! {"_id": 1}).batch_size(100).await.unwrap().try_collect().await.unwrap();
    assert!(read == docs);
    let again = [doc! {"_id": 7000}, doc! {"_id": 1}, doc! {"_id": 7001}];
    match *c.insert_many(again).ordered(false).await.unwrap_err().kind {
        ErrorKind::InsertMany(error) => {
            let errors = error.write_errors.unwrap();
            assert_eq!((errors.len(), errors[0].index, errors[0].code), (1, 1, 11000));
        }
        other => panic!("{other}"),
    }
    assert_eq!(c.count_documents(doc! {}).await.unwrap(), 5002);
}

fn unique(name: &str) -> IndexModel {
    let options = IndexOptions::builder().unique(true).name(name.to_string()).build();
    IndexModel::builder().keys(doc! {"a": 1, "b": -1}).options(options).build()
}

async fn indexes(c: &Documents) {
    assert_eq!(c.create_index(unique("a_1_b_-1")).await.unwrap().index_name, "a_1_b_-1");
    assert_eq!(c.list_index_names().await.unwrap(), ["_id_", "a_1_b_-1"]);
    assert_eq!(code(c.create_index(unique("other")).await.unwrap_err()), 85);
    c.drop_index("a_1_b_-1").await.unwrap();
    assert_eq!(c.list_index_names().await.unwrap(), ["_id_"]);
}

async fn sessions(client: &Client, c: &Documents) {
    let mut session = client.start_session().await.unwrap();
    for i in 100..110 {
        c.insert_one(doc! {"_id": i}).session(&mut session).await.unwrap();
    }
    assert_eq!(c.count_documents(doc! {"_id": {"$gte": 100}}).session(&mut session).await.unwrap(), 10);
    assert!(session.operation_time().is_some());
}

type Event = ChangeStreamEvent<Document>;

async fn changes(c: &Documents) {
    let mut stream = c.watch().full_document(FullDocumentType::UpdateLookup).await.unwrap();
    c.insert_one(doc! {"_id": "watched", "a": 1}).await.unwrap();
    let update = doc! {"$set": {"b": 2}, "$unset": {"a": ""}};
    c.update_one(doc! {"_id": "watched"}, update).await.unwrap();
    let insert: Event = stream.try_next().await.unwrap().unwrap();
    assert_eq!(insert.operation_type, OperationType::Insert);
    let update: Event = stream.try_next().await.unwrap().unwrap();
    assert_eq!(update.operation_type, OperationType::Update);
    assert_eq!(update.full_document, Some(doc! {"_id": "watched", "b": 2}));
    assert_eq!(update.update_description.unwrap().removed_fields, ["a"]);
    c.delete_one(doc! {"_id": "watched"}).await.unwrap();
    let delete: Event = stream.try_next().await.unwrap().unwrap();
    assert_eq!(delete.operation_type, OperationType::Delete);
}

async fn mark(c: &Documents, path: &str) {
    let mut stream = c.watch().await.unwrap();
    c.insert_one(doc! {"step": "before"}).await.unwrap();
    stream.try_next().await.unwrap().unwrap();
    let token = mongodb::bson::serialize_to_vec(&doc! {"token": mongodb::bson::serialize_to_bson(&stream.resume_token()).unwrap()});
    std::fs::write(path, token.unwrap()).unwrap();
    c.insert_one(doc! {"step": "missed"}).await.unwrap();
}

async fn resume(c: &Documents, path: &str) {
    let kept: Document = mongodb::bson::deserialize_from_slice(&std::fs::read(path).unwrap()).unwrap();
    let token: ResumeToken = mongodb::bson::deserialize_from_bson(kept.get("token").unwrap().clone()).unwrap();
    let mut stream = c.watch().resume_after(token).await.unwrap();
    c.insert_one(doc! {"step": "after"}).await.unwrap();
    for step in ["missed", "after"] {
        let event: Event = stream.try_next().await.unwrap().unwrap();
        assert_eq!(event.full_document.unwrap().get_str("step").unwrap(), step);
    }
}

pub async fn run(client: &Client, action: &str, path: &str) {
    let followed = client.database("rust").collection("followed");
    match action {
        "mark" => mark(&followed, path).await,
        "resume" => resume(&followed, path).await,
        _ => {
            everyday(&empty(client, "everyday").await).await;
            many(&empty(client, "many").await).await;
            indexes(&empty(client, "indexes").await).await;
            sessions(client, &empty(client, "sessions").await).await;
            changes(&empty(client, "changes").await).await;
        }
    }
}
