// SPDX-License-Identifier: Apache-2.0

import com.mongodb.MongoGridFSException;
import com.mongodb.client.MongoDatabase;
import com.mongodb.client.gridfs.GridFSBucket;
import com.mongodb.client.gridfs.GridFSBuckets;
import com.mongodb.client.gridfs.GridFSDownloadStream;
import com.mongodb.client.gridfs.GridFSUploadStream;
import com.mongodb.client.gridfs.model.GridFSDownloadOptions;
import com.mongodb.client.gridfs.model.GridFSUploadOptions;
import com.mongodb.client.model.Filters;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bson.Document;
import org.bson.conversions.Bson;
import org.bson.types.ObjectId;

final class Gridfs {
    private final MongoDatabase db;
    private final GridFSBucket bucket;

    Gridfs(MongoDatabase db) {
        this.db = db;
        this.bucket = GridFSBuckets.create(db);
    }

    private static byte[] sha256(byte[] data) throws Exception {
        return MessageDigest.getInstance("SHA-256").digest(data);
    }

    private static byte[] content(String name, int size) throws Exception {
        byte[] block = new byte[2048 * 32];
        for (int i = 0; i < 2048; i++)
            System.arraycopy(sha256((name + " " + i).getBytes(StandardCharsets.UTF_8)), 0, block, i * 32, 32);
        byte[] out = new byte[size];
        for (int at = 0; at < size; at += block.length)
            System.arraycopy(block, 0, out, at, Math.min(block.length, size - at));
        return out;
    }

    private static void ensure(boolean holds, String what) {
        if (!holds)
            throw new AssertionError(what);
    }

    private static ObjectId upload(GridFSBucket b, String name, byte[] data, Document metadata) {
        return b.uploadFromStream(name, new ByteArrayInputStream(data), new GridFSUploadOptions().metadata(metadata));
    }

    private static byte[] byName(GridFSBucket b, String name, int revision) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        b.downloadToStream(name, out, new GridFSDownloadOptions().revision(revision));
        return out.toByteArray();
    }

    private static List<ObjectId> find(GridFSBucket b, Bson filter) {
        List<ObjectId> ids = new ArrayList<>();
        b.find(filter).sort(new Document("uploadDate", -1)).forEach(file -> ids.add(file.getObjectId()));
        return ids;
    }

    private void readParts(ObjectId id, byte[] data) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        bucket.downloadToStream(id, out);
        ensure(Arrays.equals(out.toByteArray(), data), "wrong bytes");
        try (GridFSDownloadStream stream = bucket.openDownloadStream(id)) {
            ensure(stream.getGridFSFile().getLength() == data.length, "wrong length");
            ensure(stream.skip(300000) == 300000, "skip");
            ensure(Arrays.equals(stream.readNBytes(1000), Arrays.copyOfRange(data, 300000, 301000)), "wrong bytes behind a skip");
        }
    }

    private void otherBucket(byte[] data) {
        GridFSBucket other = GridFSBuckets.create(db, "java").withChunkSizeBytes(1000);
        upload(other, "small chunks", Arrays.copyOf(data, 12345), null);
        ensure(Arrays.equals(byName(other, "small chunks", -1), Arrays.copyOf(data, 12345)), "small chunks");
        GridFSUploadStream aborted = other.openUploadStream("aborted");
        aborted.write(data, 0, 5000);
        aborted.abort();
        ensure(find(other, Filters.eq("filename", "aborted")).isEmpty(), "an aborted upload is a file");
        other.drop();
        ensure(find(other, new Document()).isEmpty(), "a dropped bucket has files");
    }

    private void all(String name, byte[] data) throws Exception {
        byte[] backwards = new byte[data.length];
        for (int i = 0; i < data.length; i++)
            backwards[data.length - 1 - i] = data[i];
        ObjectId first = upload(bucket, name, data, new Document("color", "red"));
        ObjectId second = upload(bucket, name, backwards, new Document("color", "blue"));
        readParts(first, data);
        ensure(Arrays.equals(byName(bucket, name, -1), backwards), "newest revision");
        ensure(Arrays.equals(byName(bucket, name, 0), data), "first revision");
        Bson blue = Filters.and(Filters.eq("filename", name), Filters.eq("metadata.color", "blue"));
        Client.same(find(bucket, blue), List.of(second));
        bucket.rename(first, name + " renamed");
        Client.same(find(bucket, Filters.eq("filename", name + " renamed")), List.of(first));
        Client.same(find(bucket, Filters.eq("filename", name)), List.of(second));
        bucket.delete(first);
        bucket.delete(second);
        Client.refused(MongoGridFSException.class, () -> bucket.delete(first));
        Client.refused(MongoGridFSException.class, () -> bucket.openDownloadStream(first).read());
        Client.refused(MongoGridFSException.class, () -> bucket.openDownloadStream(name + " renamed").read());
        Client.same(db.getCollection("fs.chunks").countDocuments(Filters.in("files_id", first, second)), 0);
        otherBucket(data);
    }

    void run(String action, String name, int size) throws Exception {
        byte[] data = content(name, size);
        if (action.equals("upload")) {
            upload(bucket, name, data, new Document("made", "by java"));
        } else if (action.equals("verify")) {
            byte[] got = byName(bucket, name, -1);
            ensure(Arrays.equals(got, data), "wrong bytes");
            StringBuilder hex = new StringBuilder();
            for (byte b : sha256(got))
                hex.append(String.format("%02x", b));
            System.out.println(hex);
        } else {
            all(name, data);
        }
    }
}
