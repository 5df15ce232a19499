// SPDX-License-Identifier: Apache-2.0

import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;

/** mongo-java-server in memory, on a free port of loopback; prints its URI and serves until it is killed. */
public final class Server {
    public static void main(String[] args) throws Exception {
        MongoServer server = new MongoServer(new MemoryBackend());
        System.out.println("mongodb:/" + server.bind() + "/");
        System.out.flush();
        Thread.currentThread().join();
    }

    private Server() {
    }
}
