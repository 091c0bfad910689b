"""own_server SECONDS N: N clients of a server in the same program, which answers 200 ms late."""
import asyncio
import sys
import work


async def serve(reader, writer):
    while await reader.readline():
        await asyncio.sleep(0.2)
        writer.write(b"answer\n")
        await writer.drain()
    writer.close()


async def client(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while work.now() < work.seconds():
        writer.write(b"question\n")
        await writer.drain()
        await reader.readline()
    writer.close()


async def all_of_them():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await asyncio.gather(*(client(port) for _ in range(int(sys.argv[2]))))
    server.close()


asyncio.run(all_of_them())
