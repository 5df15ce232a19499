#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether what testssl.sh found of one door is at least an A: nothing that it counts as a weakness, however low.

usage: testssl.py FINDINGS.json
"""
import json
import sys

# Of the test's own certificate, which lives for two days and has an authority without a list of revoked ones; and of testssl itself.
NOT_THE_SERVERS = {"cert_expirationStatus", "cert_notAfter", "cert_revocation", "DNS_CAArecord", "engine_problem", "service"}
# What must have been looked at and found good.
GOOD = {"SSLv2", "SSLv3", "TLS1_2", "TLS1_3", "cipherlist_NULL", "cipherlist_aNULL", "cipherlist_EXPORT", "cipherlist_LOW", "cipherlist_STRONG", "PFS",
        "cipher_order", "cert_trust", "cert_chain_of_trust", "cert_keySize", "cert_signatureAlgorithm", "heartbleed", "CCS", "ROBOT",
        "secure_renego", "secure_client_renego", "CRIME_TLS", "POODLE_SSL", "fallback_SCSV", "SWEET32", "FREAK", "DROWN", "LOGJAM",
        "BEAST", "LUCKY13", "RC4"}
# What is nothing good where it is not there, and has to be so.
NOT_OFFERED = {"TLS1", "TLS1_1", "cipherlist_3DES_IDEA", "cipherlist_AVERAGE"}


def main():
    with open(sys.argv[1]) as file:
        findings = {finding["id"]: finding for finding in json.load(file)}
    bad = [finding for finding in findings.values()
           if finding["severity"] not in ("OK", "INFO") and finding["id"] not in NOT_THE_SERVERS]
    bad += [findings.get(id_, {"id": id_, "finding": "not looked at"}) for id_ in sorted(GOOD)
            if findings.get(id_, {}).get("severity") != "OK"]
    bad += [findings.get(id_, {"id": id_, "finding": "not looked at"}) for id_ in sorted(NOT_OFFERED)
            if findings.get(id_, {}).get("finding") != "not offered"]
    for finding in bad:
        print(f"{finding['id']}: {finding['finding']}")
    sys.exit(1 if bad else 0)


main()
