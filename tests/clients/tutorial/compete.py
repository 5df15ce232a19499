# SPDX-License-Identifier: Apache-2.0
"""32 clients take copies of one book until none is left: never more checkouts than copies.  usage: compete.py URI

Each client tries again after a success, so every copy is fought for; retryable writes are on, as drivers have them.
"""
import sys
import threading

import pymongo

CLIENTS = 32
COPIES = 200


def borrow(uri, number, start, taken):
    client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=10000)
    books = client["library"]["books"]
    books.find_one()
    start.wait()
    while True:
        book = books.find_one_and_update(
            {"_id": "competed", "available": {"$gt": 0}},
            {"$inc": {"available": -1}, "$push": {"checkout": {"by": number}}},
            return_document=pymongo.ReturnDocument.AFTER)
        if book is None:
            break
        taken.append(book["available"])
    client.close()


def main():
    uri = sys.argv[1]
    client = pymongo.MongoClient(uri)
    books = client["library"]["books"]
    books.replace_one({"_id": "competed"}, {"available": COPIES, "checkout": []}, upsert=True)
    start = threading.Barrier(CLIENTS)
    taken = [[] for _ in range(CLIENTS)]
    threads = [threading.Thread(target=borrow, args=(uri, i, start, taken[i])) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [number for of_client in taken for number in of_client]
    assert sorted(left) == list(range(COPIES)), f"{len(left)} checkouts of {COPIES} copies"
    book = books.find_one({"_id": "competed"})
    assert book["available"] == 0 and len(book["checkout"]) == COPIES, book
    for number in range(CLIENTS):
        mine = sum(checkout["by"] == number for checkout in book["checkout"])
        assert mine == len(taken[number]), (number, mine, len(taken[number]))


main()
