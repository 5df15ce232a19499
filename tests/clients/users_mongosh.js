// SPDX-License-Identifier: Apache-2.0
// Typed into mongosh that has signed in as root: users made, shown, signed in as, changed and dropped by the shell's own functions.
const files = db.getSiblingDB("files");
const mechanisms = ["SCRAM-SHA-1", "SCRAM-SHA-256"];

function refused(act, code) {
    try {
        act();
    } catch (error) {
        if (error.code !== code) throw error;
        return;
    }
    throw new Error("not refused with " + code);
}

function same(got, expected) {
    if (EJSON.stringify(got) !== EJSON.stringify(expected)) throw new Error(`got ${EJSON.stringify(got)}`);
}

function work(mechanism) {
    // A shell of its own, so that root stays who it is here.
    const ann = new Mongo(`mongodb://${address}/`).getDB("files");
    refused(() => ann.c.findOne(), 13);
    refused(() => ann.auth({user: "ann", pwd: "wrong", mechanism}), 18);
    refused(() => ann.auth({user: "nobody", pwd: "crayon", mechanism}), 18);
    same(ann.auth({user: "ann", pwd: "crayon", mechanism}).ok, 1);
    same(ann.runCommand({connectionStatus: 1}).authInfo.authenticatedUsers, [{user: "ann", db: "files"}]);
    same(ann.c.countDocuments(), 1);
    refused(() => ann.c.insertOne({}), 13);
    refused(() => ann.createUser({user: "ben", pwd: "x", roles: []}), 13);
    refused(() => ann.getUsers(), 13);
    refused(() => ann.getSiblingDB("other").c.findOne(), 13);
    ann.logout();
    refused(() => ann.c.findOne(), 13);
}

files.c.insertOne({a: 1});
files.createUser({user: "ann", pwd: "crayon", roles: ["read"], customData: {desk: 4}});
same(files.getUser("ann").roles, [{role: "read", db: "files"}]);
same(files.getUser("ann").customData, {desk: 4});
same(files.getUsers().users.map((user) => user._id), ["files.ann"]);
same([...files.getUser("ann").mechanisms].sort(), mechanisms);
mechanisms.forEach(work);
files.changeUserPassword("ann", "chalk");
refused(() => new Mongo(`mongodb://${address}/`).getDB("files").auth("ann", "crayon"), 18);
files.grantRolesToUser("ann", ["readWrite"]);
const ann = new Mongo(`mongodb://ann:chalk@${address}/?authSource=files`).getDB("files");
same(ann.c.insertOne({a: 2}).acknowledged, true);
files.revokeRolesFromUser("ann", ["readWrite"]);
refused(() => ann.c.insertOne({a: 3}), 13);
files.createRole({role: "look", privileges: [{resource: {db: "files", collection: "c"}, actions: ["find"]}], roles: []});
same(files.getRole("look", {showPrivileges: true}).privileges.length, 1);
files.updateUser("ann", {roles: ["look"]});
same(ann.c.countDocuments(), 2);
refused(() => ann.d.findOne(), 13);
files.dropUser("ann");
same(files.getUser("ann"), null);
refused(() => ann.c.findOne(), 13);
files.dropRole("look");
same(files.getRoles().roles, []);
