// SPDX-License-Identifier: Apache-2.0
// npm mongodb signs in by both mechanisms, and makes a user of its own.  usage: users_node.js ADDRESS
const assert = require("assert");
const {MongoClient} = require(process.env.MONGODB_PACKAGE || "mongodb");

const address = process.argv[2];

async function connected(user, options, work) {
    const client = new MongoClient(`mongodb://${user}@${address}/?${options}`);
    try {
        return await work(client);
    } finally {
        await client.close();
    }
}

async function main() {
    for (const mechanism of ["SCRAM-SHA-1", "SCRAM-SHA-256", "DEFAULT"]) {
        await connected("root:pencil", `authMechanism=${mechanism}`, (c) => c.db("files").collection("c").insertOne({mechanism}));
        await connected("root:wrong", `authMechanism=${mechanism}`, (c) =>
            assert.rejects(c.db("files").collection("c").findOne(), (e) => e.code === 18));
    }
    await connected("root:pencil", "", (c) => c.db("files").command({createUser: "ann", pwd: "crayon", roles: ["read"]}));
    await connected("ann:crayon", "authSource=files", async (c) => {
        assert.strictEqual(await c.db("files").collection("c").countDocuments(), 3);
        await assert.rejects(c.db("files").collection("c").insertOne({}), (e) => e.code === 13);
        await assert.rejects(c.db("other").collection("c").findOne(), (e) => e.code === 13);
    });
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
