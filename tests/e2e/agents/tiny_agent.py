"""The cheapest agent there is in Python: one request on a bare socket, where hundreds run at once.

To be run with `-I -S`: `_socket` is the module behind `socket`, which takes longer to import than
all else here.
"""

import _socket
import os

host, port = os.environ["OPENAI_BASE_URL"].split("/")[2].split(":")
said = b'{"model":"small-1","messages":[{"role":"user","content":"hello"}],"temperature":0}'
head = (
    "POST /v1/chat/completions HTTP/1.1\r\nhost: model\r\ncontent-type: application/json\r\n"
    f"content-length: {len(said)}\r\nconnection: close\r\n\r\n"
)
connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
connection.connect((host, int(port)))
connection.sendall(head.encode() + said)
answer = b""
while piece := connection.recv(65536):
    answer += piece
print(answer.partition(b"\r\n\r\n")[2].decode())
