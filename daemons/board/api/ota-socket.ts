/**
 * The board's socket for root of this machine: firmware images from an update server come in here, to the same installer
 * and under the same rules as those that are uploaded, and `plantroom network set` asks here. Only root and the board's own
 * user can open the socket, so it asks for no password, and none has to be stored.
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Clock } from '#kit/clock.ts'
import { readJson } from '#kit/http/dialect.ts'
import { endUpload, openUpload, type UploadBounds, wholeUpload } from '#kit/http/route.ts'
import { Fault, faultOf } from '#kit/pure/fault.ts'
import type { Recorder } from '#kit/records/records.ts'
import type { Ota } from '../core/machine/firmware.ts'
import type { Rebooter } from '../core/machine/ports.ts'
import type { NetworkRequests } from './network-requests.ts'

interface OtaSocketParts {
  /** Where the socket is; empty for no socket. */
  path: string
  clock: Clock
  ota: Ota
  bounds: UploadBounds
  rebooter: Rebooter
  recorder: Recorder
  /** The version of the image that runs. */
  runs: string
  /** The kind of board that images have to be for. */
  compatible: string
  /** Of this run of the machine; empty where nobody knows. */
  bootId: string
  network: NetworkRequests
}

/** Connections at once: the updater has one. */
const MOST_CONNECTIONS = 8

/** As the journal names who installed. */
const BY = { caller: { name: 'plantroom update' }, remoteAddress: 'this machine' } as const

/**
 * `GET /` answers `{run, start, runs, compatible, state, missing}`: a name for this run of what an image restarts, a name for
 * this process, the version of the image that runs, the kind of board, the state of `ota`, and what it lacks to take an image
 * (null or `{code, message}`). `POST /` takes an image as `/api/ota` does, and answers the same. Below /network:
 * network-requests.ts.
 */
export function createOtaSocket({ compatible, ota, path, rebooter, recorder, runs, ...by }: OtaSocketParts) {
  const { bootId, bounds, clock } = by
  const start = randomUUID()
  // A board that ended by itself before the machine restarts has not come back yet.
  const run = rebooter.isOfMachine && bootId !== '' ? bootId : start
  let server: Server | undefined

  async function answerTo(request: IncomingMessage): Promise<object> {
    const { method = '', url = '' } = request
    if (url.startsWith('/network')) return await by.network(method, url, () => bodyOf(request, clock))
    if (method !== 'POST')
      return { run, start, runs, compatible, state: ota.status().state, missing: await ota.missing() }
    const { version } = await ota.take(openUpload(request, bounds, clock))
    await recorder.changed(BY, 'firmware installed', version)
    await rebooter.reboot('ota')
    return { installed: true, version }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      reply(response, 200, await answerTo(request))
    } catch (error) {
      const { code, details, message } = faultOf(error, 'ota_failed', 'the update met a fault of the program')
      reply(response, 422, { error: code, message, ...details })
    }
    // Ending the response closes the connection, and a client that is still sending would fail before it has read why.
    const end = () => void response.end()
    if (request.complete || request.destroyed) end()
    else for (const event of ['end', 'close'] as const) request.once(event, end)
    endUpload(request, clock)
  }

  return {
    /** @throws Fault `ota_socket_failed` */
    async start(): Promise<void> {
      if (path === '') return
      // Left by one that was killed.
      await rm(path, { force: true })
      server = createServer((request, response) => void handle(request, response))
      server.maxConnections = MOST_CONNECTIONS
      try {
        server.listen(path)
        await once(server, 'listening')
        await chmod(path, 0o600)
      } catch (cause) {
        throw new Fault('ota_socket_failed', `ota.socket ${path} cannot be opened`, { cause })
      }
    },
    stop(): void {
      server?.close()
      server?.closeAllConnections()
    },
  }
}

/** Of a request that is not an image: some fields. */
const SMALL: UploadBounds = { maxBytes: 4096, idleMs: 5000, wholeMs: 10_000 }

async function bodyOf(request: IncomingMessage, clock: Clock): Promise<unknown> {
  return readJson(await wholeUpload(openUpload(request, SMALL, clock)))
}

function reply(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.write(text)
}
