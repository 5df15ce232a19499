// SPDX-License-Identifier: Apache-2.0

import com.mongodb.MongoException;
import com.mongodb.client.MongoDatabase;
import java.util.List;
import org.bson.Document;

/** One thing done as whom the URI names, and what was said of it. */
final class Users {
    private final MongoDatabase files;

    Users(MongoDatabase files) {
        this.files = files;
    }

    private void act(String action, String name) {
        if (action.equals("insert"))
            files.getCollection("c").insertOne(new Document("by", name));
        else if (action.equals("read"))
            Client.same(files.getCollection("c").find(new Document("by", name)).first() != null, true);
        else
            files.runCommand(new Document("createUser", name).append("pwd", "crayon").append("roles", List.of("read")));
    }

    void run(String action, String name) {
        try {
            act(action, name);
            System.out.println("done");
        } catch (MongoException error) {
            System.out.println(error.getMessage() + ": " + error.getCause());
        }
    }
}
