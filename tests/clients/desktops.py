# SPDX-License-Identifier: Apache-2.0
"""What Finder, Explorer and LibreOffice send, byte for byte, by a socket of our own: they cannot run here.

usage: desktops.py ADDRESS finder|finder-cut|explorer|explorer-rename|office
"""
import socket
import sys
import xml.etree.ElementTree as ElementTree

address, what = sys.argv[1:]
host, port = address.rsplit(":", 1)
D = "{DAV:}"


class Connection:
    """One connection that is kept, as the desktops keep theirs."""

    def __init__(self, agent, extra=""):
        self.agent, self.extra = agent, extra
        self.socket = socket.create_connection((host, int(port)), timeout=30)
        self.file = self.socket.makefile("rb")

    def send(self, line, fields="", body=b""):
        head = f"{line} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: {self.agent}\r\n{self.extra}"
        for field in fields.strip().splitlines():
            head += field.strip() + "\r\n"
        self.socket.sendall(head.encode() + b"\r\n" + body)

    def read(self, method):
        status = int(self.file.readline().split()[1])
        fields = {}
        while (line := self.file.readline().strip()) != b"":
            name, value = line.decode().split(":", 1)
            fields[name.lower()] = value.strip()
        if status == 100:
            return self.read(method)
        body = b""
        if method != "HEAD" and status not in (204, 304):
            if fields.get("transfer-encoding") == "chunked":
                while (size := int(self.file.readline(), 16)) > 0:
                    body += self.file.read(size)
                    self.file.readline()
                self.file.readline()
            else:
                body = self.file.read(int(fields["content-length"]))
        return status, fields, body

    def ask(self, expected, line, fields="", body=b""):
        if isinstance(body, str):
            body = body.encode()
        announced = "Content-Length" in fields or "Transfer-Encoding" in fields
        if not announced and (body or line.split()[0] in ("PUT", "LOCK", "PROPFIND")):
            fields += f"\nContent-Length: {len(body)}"
        self.send(line, fields, body)
        answer = self.read(line.split()[0])
        if answer[0] != expected:
            sys.exit(f"{line}: {answer[0]} and not {expected}: {answer[2][:300]!r}")
        return answer

    def properties(self, line, fields="", body=""):
        """{href: {name: element}} of those that are there."""
        _, _, text = self.ask(207, line, fields, body)
        found = {}
        for response in ElementTree.fromstring(text):
            props = found.setdefault(response.findtext(D + "href"), {})
            for part in response.findall(D + "propstat"):
                if " 200 " in part.findtext(D + "status") + " ":
                    props.update({p.tag: p for p in part.find(D + "prop")})
        return found


def check(is_so, text):
    if not is_so:
        sys.exit(text)


def chunks(data, size):
    out = b""
    for at in range(0, len(data), size):
        piece = data[at : at + size]
        out += b"%x\r\n%s\r\n" % (len(piece), piece)
    return out + b"0\r\n\r\n"


FINDER_PROPS = """<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:">
<D:prop>
<D:getlastmodified/>
<D:getcontentlength/>
<D:creationdate/>
<D:resourcetype/>
</D:prop>
</D:propfind>
"""
FINDER_QUOTA = """<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:">
<D:prop>
<D:quota-available-bytes/>
<D:quota-used-bytes/>
<D:quota/>
<D:quotaused/>
</D:prop>
</D:propfind>
"""
FINDER_LOCK = """<?xml version="1.0" encoding="utf-8"?>
<D:lockinfo xmlns:D="DAV:">
<D:lockscope><D:exclusive/></D:lockscope>
<D:locktype><D:write/></D:locktype>
<D:owner>
<D:href>http://www.apple.com/webdav_fs/</D:href>
</D:owner>
</D:lockinfo>
"""


def finder_connect():
    c = Connection("WebDAVFS/3.0.0 (03008000) Darwin/22.6.0 (x86_64)", "Accept: */*\r\nAccept-Language: en-us\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n")
    _, fields, _ = c.ask(200, "OPTIONS /")
    # Without class 2 the share is read-only.
    check("2" in fields["dav"].replace(" ", "").split(","), "DAV has no 2")
    props = c.properties("PROPFIND /", "Depth: 0\nContent-Type: text/xml", FINDER_PROPS)
    check(props["/"][D + "resourcetype"].find(D + "collection") is not None, "/ is no folder")
    room = c.properties("PROPFIND /", "Depth: 0\nContent-Type: text/xml", FINDER_QUOTA)["/"]
    check(int(room[D + "quota-available-bytes"].text) > 0, "no room")
    for noise in ("/.metadata_never_index", "/.Spotlight-V100", "/.hidden", "/._.", "/.DS_Store", "/.ql_disablethumbnails", "/.metadata_never_index_unless_rootfs"):
        c.ask(404, "PROPFIND " + noise, "Depth: 0\nContent-Type: text/xml", FINDER_PROPS)
    return c


def finder_lock(c, path):
    _, fields, body = c.ask(200, "LOCK " + path, "Depth: 0\nTimeout: Second-600\nContent-Type: text/xml; charset=\"utf-8\"", FINDER_LOCK)
    token = fields["lock-token"]
    inside = ElementTree.fromstring(body).find(f".//{D}locktoken/{D}href").text
    check(token == f"<{inside}>", "Lock-Token and locktoken differ")
    return token


def finder():
    """A file with its resource fork is dropped into the window, renamed, put into a new folder, deleted."""
    c = finder_connect()
    for path, data in (("/Bericht%20f%C3%BCr%20Jo%CC%88rg.txt", b"text " * 3000), ("/._Bericht%20f%C3%BCr%20Jo%CC%88rg.txt", b"\0\5\x16\7" * 1024)):
        c.ask(404, "PROPFIND " + path, "Depth: 0\nContent-Type: text/xml", FINDER_PROPS)
        c.ask(201, "PUT " + path, "Content-Length: 0")
        token = finder_lock(c, path)
        c.properties("PROPFIND " + path, "Depth: 0\nContent-Type: text/xml", FINDER_PROPS)
        c.ask(204, "PUT " + path, f"Transfer-Encoding: Chunked\nX-Expected-Entity-Length: {len(data)}\nIf: ({token})", chunks(data, 4096))
        c.ask(204, "UNLOCK " + path, "Lock-Token: " + token)
        props = c.properties("PROPFIND " + path, "Depth: 0\nContent-Type: text/xml", FINDER_PROPS)[path]
        check(int(props[D + "getcontentlength"].text) == len(data), "it has another length")
    # The name is as it was sent: composed and decomposed letters are two names.
    c.ask(404, "HEAD /Bericht%20f%C3%BCr%20J%C3%B6rg.txt")
    c.ask(201, "MKCOL /untitled%20folder/")
    c.ask(201, "MOVE /untitled%20folder/", f"Destination: http://{address}/Ordner/")
    for name in ("", "._"):
        c.ask(201, f"MOVE /{name}Bericht%20f%C3%BCr%20Jo%CC%88rg.txt", f"Destination: http://{address}/Ordner/{name}b.txt")
    inside = c.properties("PROPFIND /Ordner/", "Depth: 1\nContent-Type: text/xml", FINDER_PROPS)
    check(sorted(inside) == ["/Ordner/", "/Ordner/._b.txt", "/Ordner/b.txt"], f"the folder has {sorted(inside)}")
    _, fields, body = c.ask(206, "GET /Ordner/b.txt", "Range: bytes=5-9")
    check(body == b"text " and fields["content-range"] == "bytes 5-9/15000", "another part")
    c.ask(204, "DELETE /Ordner/")
    c.ask(404, "PROPFIND /Ordner", "Depth: 0", FINDER_PROPS)


def finder_cut():
    """Fewer bytes than announced, as when a proxy drops chunks: refused, and the file stays as it was."""
    c = finder_connect()
    c.ask(201, "PUT /cut", "", b"before")
    c.ask(400, "PUT /cut", "Content-Length: 0\nX-Expected-Entity-Length: 6000")
    c = Connection("WebDAVFS/3.0.0")
    c.ask(400, "PUT /cut", "Transfer-Encoding: chunked\nX-Expected-Entity-Length: 6000", chunks(b"x" * 5999, 1000))
    c = Connection("WebDAVFS/3.0.0")
    # Gone in the middle of a chunk.
    c.send("PUT /cut", "Transfer-Encoding: chunked", b"10\r\nonly a par")
    c.socket.close()
    c = Connection("WebDAVFS/3.0.0")
    check(c.ask(200, "GET /cut")[2] == b"before", "it was changed")


def explorer_connect():
    c = Connection("Microsoft-WebDAV-MiniRedir/10.0.19045", "Connection: Keep-Alive\r\ntranslate: f\r\n")
    _, fields, _ = c.ask(200, "OPTIONS /")
    check(fields["ms-author-via"] == "DAV", "no MS-Author-Via")
    for method in ("PROPFIND", "PROPPATCH", "LOCK", "UNLOCK", "MKCOL", "MOVE"):
        check(method in fields["allow"].replace(" ", "").split(","), f"{method} is not allowed")
    check("/" in c.properties("PROPFIND /", "Depth: 0\nContent-Length: 0"), "no root")
    return c


def explorer_lock(c, path):
    _, fields, _ = c.ask(200, "LOCK " + path, "Timeout: Second-3600\nContent-Type: text/xml; charset=\"utf-8\"",
        '<?xml version="1.0" encoding="utf-8" ?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
        "<D:locktype><D:write/></D:locktype><D:owner><D:href>DESKTOP-7\\Jörg &amp; Ann</D:href></D:owner></D:lockinfo>")
    return fields["lock-token"]


def win32(modified):
    return ('<?xml version="1.0" encoding="utf-8" ?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>'
        "<Z:Win32CreationTime>Sat, 03 Feb 2001 04:05:06 GMT</Z:Win32CreationTime>"
        "<Z:Win32LastAccessTime>Fri, 27 Nov 2026 09:00:00 GMT</Z:Win32LastAccessTime>"
        f"<Z:Win32LastModifiedTime>{modified}</Z:Win32LastModifiedTime>"
        "<Z:Win32FileAttributes>00000020</Z:Win32FileAttributes></D:prop></D:set></D:propertyupdate>")


def explorer():
    """A file is copied into the mapped drive."""
    c = explorer_connect()
    path, data = "/New%20Text%20Document%20(2).txt", bytes(range(256)) * 400
    modified = "Mon, 05 Jan 2015 10:20:30 GMT"
    c.ask(404, "PROPFIND " + path, "Depth: 0\nContent-Length: 0")
    c.ask(201, "PUT " + path, "Content-Length: 0")
    token = explorer_lock(c, path)
    xml = 'Content-Type: text/xml; charset="utf-8"'
    # 423 inside an answer of 207 would be fine; a bare 4xx makes Explorer give up.
    c.ask(207, "PROPPATCH " + path, f"If: ({token})\n{xml}", win32("Fri, 27 Nov 2026 09:00:00 GMT"))
    c.ask(200, "HEAD " + path)
    c.ask(204, "PUT " + path, f"If: ({token})", data)
    _, _, body = c.ask(207, "PROPPATCH " + path, f"If: ({token})\n{xml}", win32(modified))
    check(body.count(b" 200 ") == 1 and b"Win32FileAttributes" in body, f"not all were set: {body!r}")
    c.ask(204, "UNLOCK " + path, "Lock-Token: " + token)
    props = c.properties("PROPFIND /", "Depth: 1\nContent-Length: 0")
    found = [p for href, p in props.items() if href.endswith(".txt")]
    check(len(found) == 1, f"no such file in {list(props)}")
    check(found[0][D + "getlastmodified"].text == modified, "another time: " + found[0][D + "getlastmodified"].text)
    check(found[0]["{urn:schemas-microsoft-com:}Win32FileAttributes"].text == "00000020", "no attributes")
    _, fields, body = c.ask(200, "GET " + path)
    check(body == data and fields["last-modified"] == modified, "another content")


def explorer_rename():
    """New folder, renamed, opened without a slash; a file over another one is refused first."""
    c = explorer_connect()
    c.ask(201, "MKCOL /New%20folder", "Content-Length: 0")
    c.ask(201, "MOVE /New%20folder", f"Destination: http://{address}/Bilder%20%26%20mehr\nOverwrite: F\nContent-Length: 0")
    # No redirection, which Explorer does not follow.
    props = c.properties("PROPFIND /Bilder%20%26%20mehr", "Depth: 1\nContent-Length: 0")
    check(list(props) == ["/Bilder%20%26%20mehr/"], f"{list(props)}")
    c.ask(201, "PUT /one", "", b"1")
    c.ask(201, "PUT /two", "", b"2")
    c.ask(412, "MOVE /one", f"Destination: http://{address}/two\nOverwrite: F\nContent-Length: 0")
    c.ask(204, "MOVE /one", f"Destination: http://{address}/two\nOverwrite: T\nContent-Length: 0")
    check(c.ask(200, "GET /two")[2] == b"1", "it was not moved")
    c.ask(204, "DELETE /two")
    c.ask(405, "MKCOL /Bilder%20%26%20mehr", "Content-Length: 0")


def office():
    """LibreOffice opens a document, locks it, saves twice, and looks whether somebody else has changed it."""
    c = Connection("LibreOffice 7.4.7.2 curl/7.88.1 OpenSSL/3.0", "Accept: */*\r\n")
    ask = ('<?xml version="1.0" encoding="UTF-8"?>\n<propfind xmlns="DAV:"><prop><lockdiscovery/><supportedlock/><resourcetype/><IsReadOnly '
        'xmlns="http://ucb.openoffice.org/dav/props/"/><getlastmodified/><getcontentlength/><getetag/></prop></propfind>')
    c.ask(201, "PUT /letter.odt", "", b"first")
    props = c.properties("PROPFIND /letter.odt", "Depth: 0\nContent-Type: application/xml", ask)["/letter.odt"]
    check(len(props[D + "supportedlock"]) == 2, "no locks")
    _, fields, _ = c.ask(200, "LOCK /letter.odt", "Depth: 0\nTimeout: Second-180\nContent-Type: application/xml",
        '<?xml version="1.0" encoding="UTF-8"?>\n<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype>'
        "<owner>Jörg, 27.11.2026 10:00</owner></lockinfo>")
    token = fields["lock-token"]
    c.ask(201, "PUT /.~lock.letter.odt%23", "", b",Ann,host,27.11.2026 10:00,file:///;")
    for text in (b"second", b"third"):
        etag = c.ask(204, "PUT /letter.odt", f"If: ({token})\nExpect: 100-continue", text)[1]["etag"]
        before = c.ask(200, "HEAD /letter.odt")[1]
        c.ask(200, "LOCK /letter.odt", f"If: ({token})\nTimeout: Second-180")
        after = c.properties("PROPFIND /letter.odt", "Depth: 0\nContent-Type: application/xml", ask)["/letter.odt"]
        check(before["last-modified"] == after[D + "getlastmodified"].text, "Last-Modified changed by itself")
        check(etag == before["etag"] == after[D + "getetag"].text, "the ETags differ")
        owner = after[D + "lockdiscovery"].find(f".//{D}owner").text
        check(owner == "Jörg, 27.11.2026 10:00", f"another owner: {owner}")
    # A colleague is told who has it open, and may not write.
    other = Connection("LibreOffice 7.4.7.2")
    other.ask(423, "PUT /letter.odt", "", b"mine")
    other.ask(423, "LOCK /letter.odt", "Depth: 0\nContent-Type: application/xml", FINDER_LOCK)
    c.ask(204, "DELETE /.~lock.letter.odt%23")
    c.ask(204, "UNLOCK /letter.odt", "Lock-Token: " + token)
    other.ask(204, "PUT /letter.odt", "", b"mine")


{"finder": finder, "finder-cut": finder_cut, "explorer": explorer, "explorer-rename": explorer_rename, "office": office}[what]()
