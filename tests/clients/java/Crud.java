// SPDX-License-Identifier: Apache-2.0

import com.mongodb.MongoBulkWriteException;
import com.mongodb.MongoCommandException;
import com.mongodb.MongoWriteException;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoChangeStreamCursor;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.BulkWriteOptions;
import com.mongodb.client.model.DeleteOneModel;
import com.mongodb.client.model.FindOneAndUpdateOptions;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.InsertOneModel;
import com.mongodb.client.model.ReplaceOneModel;
import com.mongodb.client.model.ReplaceOptions;
import com.mongodb.client.model.ReturnDocument;
import com.mongodb.client.model.UpdateOneModel;
import com.mongodb.client.model.UpdateOptions;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import com.mongodb.client.model.changestream.FullDocument;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bson.BsonDocument;
import org.bson.Document;

final class Crud {
    private final MongoClient client;

    Crud(MongoClient client) {
        this.client = client;
    }

    private MongoCollection<Document> collection(String name) {
        return client.getDatabase("java").getCollection(name);
    }

    private MongoCollection<Document> empty(String name) {
        MongoCollection<Document> c = collection(name);
        c.drop();
        return c;
    }

    private static Document doc(String json) {
        return Document.parse(json);
    }

    private static void same(Object got, Object expected) {
        Client.same(got, expected);
    }

    private void everyday() {
        MongoCollection<Document> c = empty("everyday");
        same(c.insertOne(doc("{_id: 1, n: 1}")).getInsertedId().asInt32().getValue(), 1);
        c.insertMany(List.of(doc("{_id: 2, n: 2}"), doc("{_id: 3, n: 3}")));
        same(Client.refused(MongoWriteException.class, () -> c.insertOne(doc("{_id: 1}"))).getError().getCode(), 11000);
        same(c.updateMany(doc("{n: {$gte: 2}}"), doc("{$inc: {n: 10}}")).getModifiedCount(), 2);
        UpdateOptions upsert = new UpdateOptions().upsert(true);
        same(c.updateOne(doc("{_id: 4}"), doc("{$set: {n: 4}}"), upsert).getUpsertedId().asInt32().getValue(), 4);
        List<Document> sorted = c.find().sort(doc("{n: -1}")).limit(2).projection(doc("{n: 1}")).into(new ArrayList<>());
        same(sorted, List.of(doc("{_id: 3, n: 13}"), doc("{_id: 2, n: 12}")));
        FindOneAndUpdateOptions after = new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER);
        same(c.findOneAndUpdate(doc("{_id: 4}"), doc("{$set: {n: 5}}"), after), doc("{_id: 4, n: 5}"));
        same(c.find(doc("{_id: 99}")).first(), null);
        same(c.countDocuments(doc("{n: {$gt: 1}}")), 3);
        same(c.distinct("n", Integer.class).into(new ArrayList<>()).size(), 4);
        same(c.aggregate(List.of(doc("{$group: {_id: null, sum: {$sum: '$n'}}}"))).first(), doc("{_id: null, sum: 31}"));
        same(c.deleteMany(doc("{_id: {$in: [3, 4]}}")).getDeletedCount(), 2);
    }

    private void bulk() {
        MongoCollection<Document> c = empty("bulk");
        MongoBulkWriteException failure = Client.refused(MongoBulkWriteException.class, () -> c.bulkWrite(List.of(
            new InsertOneModel<>(doc("{_id: 1}")), new InsertOneModel<>(doc("{_id: 1}")),
            new UpdateOneModel<>(doc("{_id: 1}"), doc("{$set: {a: 1}}")),
            new ReplaceOneModel<>(doc("{_id: 2}"), doc("{a: 2}"), new ReplaceOptions().upsert(true)),
            new DeleteOneModel<>(doc("{_id: 3}"))), new BulkWriteOptions().ordered(false)));
        same(failure.getWriteErrors().size(), 1);
        same(failure.getWriteErrors().get(0).getIndex(), 1);
        same(failure.getWriteErrors().get(0).getCode(), 11000);
        same(failure.getWriteResult().getInsertedCount(), 1);
        same(failure.getWriteResult().getModifiedCount(), 1);
        same(failure.getWriteResult().getUpserts().size(), 1);
    }

    private void manyBatches() {
        MongoCollection<Document> c = empty("batches");
        List<Document> many = new ArrayList<>();
        for (int i = 0; i < 5000; i++)
            many.add(new Document("_id", i));
        c.insertMany(many);
        same(c.find().sort(doc("{_id: 1}")).batchSize(100).into(new ArrayList<>()), many);
    }

    private void indexes() {
        MongoCollection<Document> c = empty("indexes");
        IndexOptions unique = new IndexOptions().unique(true);
        same(c.createIndex(doc("{a: 1, b: -1}"), unique), "a_1_b_-1");
        same(c.listIndexes().into(new ArrayList<>()).size(), 2);
        IndexOptions other = new IndexOptions().unique(true).name("other");
        same(Client.refused(MongoCommandException.class, () -> c.createIndex(doc("{a: 1, b: -1}"), other)).getErrorCode(), 85);
        c.dropIndex("a_1_b_-1");
        same(c.listIndexes().into(new ArrayList<>()).size(), 1);
    }

    private void sessions() {
        MongoCollection<Document> c = empty("sessions");
        try (ClientSession session = client.startSession()) {
            for (int i = 100; i < 110; i++)
                c.insertOne(session, new Document("_id", i));
            same(c.countDocuments(session, doc("{_id: {$gte: 100}}")), 10);
            same(session.getOperationTime() != null, true);
        }
    }

    private void changes() {
        MongoCollection<Document> c = empty("changes");
        try (MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream =
                 c.watch().fullDocument(FullDocument.UPDATE_LOOKUP).cursor()) {
            c.insertOne(doc("{_id: 'watched', a: 1}"));
            c.updateOne(doc("{_id: 'watched'}"), doc("{$set: {b: 2}, $unset: {a: ''}}"));
            same(stream.next().getOperationType().getValue(), "insert");
            ChangeStreamDocument<Document> update = stream.next();
            same(update.getOperationType().getValue(), "update");
            same(update.getFullDocument(), doc("{_id: 'watched', b: 2}"));
            same(update.getUpdateDescription().getRemovedFields(), List.of("a"));
            c.deleteOne(doc("{_id: 'watched'}"));
            same(stream.next().getOperationType().getValue(), "delete");
        }
    }

    private void mark(Path path) throws Exception {
        MongoCollection<Document> c = collection("followed");
        try (MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream = c.watch().cursor()) {
            c.insertOne(doc("{step: 'before'}"));
            stream.next();
            Files.writeString(path, stream.getResumeToken().toJson());
            c.insertOne(doc("{step: 'missed'}"));
        }
    }

    private void resume(Path path) throws Exception {
        MongoCollection<Document> c = collection("followed");
        BsonDocument token = BsonDocument.parse(Files.readString(path));
        try (MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream = c.watch().resumeAfter(token).cursor()) {
            c.insertOne(doc("{step: 'after'}"));
            same(stream.next().getFullDocument().get("step"), "missed");
            same(stream.next().getFullDocument().get("step"), "after");
        }
    }

    void run(String action, String path) throws Exception {
        if (action.equals("mark")) {
            mark(Path.of(path));
        } else if (action.equals("resume")) {
            resume(Path.of(path));
        } else {
            everyday();
            bulk();
            manyBatches();
            indexes();
            sessions();
            changes();
        }
    }
}
