#!/usr/bin/env python3
"""A web proxy with a cache on disk, under clients that fetch objects with Zipf-like popularity.

    traces/record.sh -o proxy.csv.zst -f ntfs -s 3G -r 1 --command 'python3 /path/to/proxy.py --requests 300000'

It runs squid in the current folder, a server of objects behind it and clients before it, all of them on loopback. Sizes
of objects are log-normal, with a median of 8 KiB and a mean of 25. The same seed gives the same requests of each client;
how they interleave is the machine's.
"""

import argparse
import http.client
import http.server
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

KIB, MIB = 1024, 1024 * 1024
PIECE = random.Random(0).randbytes(MIB)


def size_of(number):
    """The size of an object, in bytes: always the same."""
    return max(100, min(20 * MIB, int(8 * KIB * random.Random(number).lognormvariate(0, 1.5))))


class Origin(http.server.BaseHTTPRequestHandler):
    """The server that has all objects."""

    protocol_version = "HTTP/1.1"
    # Otherwise each answer waits for the client's delayed acknowledgement.
    disable_nagle_algorithm = True

    def do_GET(self):  # the name that the library calls
        left = size_of(int(self.path.rsplit("/", 1)[1]))
        self.send_response(200)
        self.send_header("Content-Length", str(left))
        self.send_header("Cache-Control", "public, max-age=1000000")
        self.end_headers()
        while left > 0:
            self.wfile.write(PIECE[:left])
            left -= len(PIECE)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fetch(port, origin, requests, objects, skew, chance, failures):
    """A client: one request after another, of objects whose popularity falls with their rank to the power of `skew`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        for _ in range(requests):
            # The inverse of the distribution of a continuous rank from 1 to `objects`.
            rank = (1 + chance.random() * (objects ** (1 - skew) - 1)) ** (1 / (1 - skew))
            connection.request("GET", f"http://127.0.0.1:{origin}/{int(rank)}")
            response = connection.getresponse()
            body = response.read()
            if response.status != 200 or len(body) != size_of(int(rank)):
                raise OSError(f"object {int(rank)}: status {response.status}, {len(body)} bytes")
    except Exception as failure:  # whatever it is, it is the program's failure
        failures.append(failure)
    finally:
        connection.close()


def wait_for(port, process):
    for _ in range(200):
        if process.poll() is not None:
            sys.exit(f"squid ended with {process.returncode}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("squid does not answer")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=300_000, help="of all clients (default 300,000)")
    parser.add_argument("--clients", type=int, default=8, help="at the same time (default 8)")
    parser.add_argument("--objects", type=int, default=1_000_000, help="how many there are (default a million)")
    parser.add_argument("--skew", type=float, default=0.75, help="exponent of the popularity, not 1 (default 0.75)")
    parser.add_argument("--cache", type=int, default=1_500, help="squid's cache on disk, in MB (default 1,500)")
    parser.add_argument("--seed", type=int, default=1, help="of all choices (default 1)")
    options = parser.parse_args()
    if min(options.requests, options.clients, options.objects, options.cache) < 1:
        parser.error("a number is less than 1")
    if not 0 <= options.skew < 10 or options.skew == 1:
        parser.error("--skew is not from 0 to 10, or it is 1")
    squid = shutil.which("squid", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if not squid:
        sys.exit("no squid; on Debian: apt-get install squid")

    origin = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=origin.serve_forever, daemon=True).start()
    port, here = free_port(), os.getcwd()
    with open("squid.conf", "w") as conf:
        conf.write(f"""
http_port 127.0.0.1:{port}
http_access allow localhost
cache_dir ufs {here}/cache {options.cache} 16 256
cache_mem 16 MB
maximum_object_size 32 MB
access_log stdio:{here}/access.log
cache_log {here}/cache.log
cache_store_log none
pid_filename {here}/squid.pid
coredump_dir {here}
pinger_enable off
shutdown_lifetime 1 second
""")
    subprocess.run([squid, "-N", "-z", "-f", "squid.conf"], check=True, stderr=subprocess.DEVNULL)
    proxy = subprocess.Popen([squid, "-N", "-f", "squid.conf"], stderr=subprocess.DEVNULL)
    try:
        wait_for(port, proxy)
        failures = []
        clients = [
            threading.Thread(
                target=fetch,
                args=(
                    port,
                    origin.server_port,
                    -(-options.requests // options.clients),
                    options.objects,
                    options.skew,
                    random.Random(options.seed * 1_000 + client),
                    failures,
                ),
            )
            for client in range(options.clients)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
    finally:
        proxy.terminate()
        proxy.wait()
    if proxy.returncode not in (0, -signal.SIGTERM):
        with open("cache.log", errors="replace") as log:
            sys.stderr.write("".join(log.readlines()[-5:]))
        sys.exit(f"squid ended with {proxy.returncode}")
    if failures:
        sys.exit(f"a client failed: {failures[0]}")


if __name__ == "__main__":
    main()
