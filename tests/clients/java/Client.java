// SPDX-License-Identifier: Apache-2.0

import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;

/**
 * mongodb-driver-sync against a server.
 * usage: Client URI gridfs upload|verify|all NAME SIZE   (the same bytes as pymongo_gridfs.py makes)
 *        Client URI crud all|mark|resume FILE            (FILE keeps a resume token between two runs)
 *        Client URI users insert|read|create NAME        (prints "done", or the error)
 */
public final class Client {
    static void same(Object got, Object expected) {
        if (!String.valueOf(got).equals(String.valueOf(expected)))
            throw new AssertionError("got " + got + ", expected " + expected);
    }

    /** The error of a call that has to fail. */
    static <E extends RuntimeException> E refused(Class<E> kind, Runnable call) {
        try {
            call.run();
        } catch (RuntimeException error) {
            if (kind.isInstance(error))
                return kind.cast(error);
            throw error;
        }
        throw new AssertionError("not refused with " + kind);
    }

    public static void main(String[] args) throws Exception {
        try (MongoClient client = MongoClients.create(args[0])) {
            if (args[1].equals("gridfs"))
                new Gridfs(client.getDatabase("test")).run(args[2], args[3], Integer.parseInt(args[4]));
            else if (args[1].equals("users"))
                new Users(client.getDatabase("files")).run(args[2], args[3]);
            else
                new Crud(client).run(args[2], args[3]);
        }
    }

    private Client() {
    }
}
