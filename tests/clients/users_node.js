// SPDX-License-Identifier: Apache-2.0
// npm mongodb signs in by both mechanisms, and makes a user of its own; over TLS by a password and by certificates.
// usage: users_node.js ADDRESS [PKI SUBJECT]   (the files of tls_files.sh, and the name of ann's certificate)
const assert = require("assert");
const {MongoClient} = require(process.env.MONGODB_PACKAGE || "mongodb");

const [address, pki, subject] = process.argv.slice(2);
const x509 = "authMechanism=MONGODB-X509&authSource=$external";
const soon = "serverSelectionTimeoutMS=3000";

async function connected(user, options, work) {
    const client = new MongoClient(`mongodb://${user === "" ? "" : user + "@"}${address}/?${options}`);
    try {
        return await work(client);
    } finally {
        await client.close();
    }
}

async function passwords() {
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

function overTls(user, certificate, options, work, ca = "ca") {
    const shown = certificate === "" ? "" : `&tlsCertificateKeyFile=${pki}/${certificate}.pem`;
    return connected(user, `tls=true&tlsCAFile=${pki}/${ca}.pem${shown}&${options}`, work);
}

const insert = (c) => c.db("files").collection("c").insertOne({a: 1});
const failsToSignIn = (c) => assert.rejects(insert(c), (e) => e.code === 18);
const isNobody = (c) => assert.rejects(insert(c), (e) => e.code === 13);
const meetsNobody = (c) => assert.rejects(insert(c), (e) => e.name === "MongoServerSelectionError");

async function isAnn(c) {
    await insert(c);
    const status = await c.db("files").command({connectionStatus: 1});
    assert.deepStrictEqual(status.authInfo.authenticatedUsers, [{user: subject, db: "$external"}]);
    await assert.rejects(c.db("other").collection("c").insertOne({}), (e) => e.code === 13);
}

async function tls() {
    const ann = encodeURIComponent(subject);
    for (const mechanism of ["SCRAM-SHA-1", "SCRAM-SHA-256"]) {
        await overTls("root:pencil", "", `authMechanism=${mechanism}`, insert);
        await overTls("root:wrong", "", `authMechanism=${mechanism}`, failsToSignIn);
    }
    await overTls("", "ann", x509, isAnn);
    await overTls(ann, "ann", x509, isAnn);
    await overTls("", "ann", "", isNobody);
    await overTls("", "nobody", x509, failsToSignIn);
    await overTls(ann, "nobody", x509, failsToSignIn);
    await overTls(ann, "", x509, failsToSignIn);
    await overTls("", "forged", `${x509}&${soon}`, meetsNobody);
    await overTls("root:pencil", "", soon, meetsNobody, "stranger");
    await connected("root:pencil", soon, meetsNobody);
}

(pki === undefined ? passwords() : tls()).catch((error) => {
    console.error(error);
    process.exit(1);
});
