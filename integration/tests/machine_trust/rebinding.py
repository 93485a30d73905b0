"""A DNS server that answers otherwise each time, and servers at both addresses that note who connects to them.

Arguments: the file for the notes, then addresses. A name's first lookup gets the first address, the next one the second, and
so on; `ready` is noted when everything listens.
"""

import socket
import sys
import threading

notes, addresses = open(sys.argv[1], "a", buffering=1), sys.argv[2:]
asked = {}


def serve(address, port):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((address, port))
    server.listen()
    while True:
        connection, _ = server.accept()
        notes.write(f"{address}:{port}\n")
        connection.close()


def answer(query):
    end = query.index(0, 12) + 1
    name, kind = query[12:end], query[end : end + 2]
    records = b""
    if kind == b"\0\1":
        number = asked.get(name, 0)
        asked[name] = number + 1
        address = socket.inet_aton(addresses[min(number, len(addresses) - 1)])
        records = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + address
    count = b"\0\1" if records else b"\0\0"
    return query[:2] + b"\x81\x80\0\1" + count + b"\0\0\0\0" + query[12 : end + 4] + records


dns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
dns.bind(("127.0.0.1", 53))
for address in set(addresses):
    for port in (22, 443, 6443):
        threading.Thread(target=serve, args=(address, port), daemon=True).start()
notes.write("ready\n")
while True:
    query, client = dns.recvfrom(512)
    dns.sendto(answer(query), client)
