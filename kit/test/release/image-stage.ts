/** A board that takes images, as its updater sees it, and images that a server offers to it. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Value } from 'typebox/value'
import { systemClock } from '../../clock.ts'
import type { ImageParts } from '../../release/apply-image.ts'
import type { BoardAbout } from '../../release/board-socket.ts'
import { writeRelease } from '../../release/record.ts'
import { textOfSigned } from '../../release/signed.ts'
import { type ImageSettings, imageTable, updateTable } from '../../release/update-settings.ts'
import type { Owner } from '../running-daemon.ts'
import { sealed } from './sealed.ts'
import type { Published, Publisher } from './update-stage.ts'

/** An image whose text is its version, for boards of one kind. */
export function publishImage(
  { releaseKey, root }: Publisher,
  version: string,
  { compatible = 'panel', kind = 'image' as 'image' | 'update', bytes = 300_000 } = {},
): Published {
  const image = Buffer.alloc(bytes, `${version}\n`)
  const key = randomBytes(32)
  const container = sealed(image, key)
  const [checksum, bundle] = [container, image].map((all) => createHash('sha256').update(all).digest('hex')) as [
    string,
    string,
  ]
  const record = {
    ...{ version, compatible, sequence: 5, min_from: null, arch: null, size: container.length, sha256: checksum },
    ...{ bundle, security_fix: false, issued_at: Date.now() - 1000, expires: Date.now() + 1e9 },
  }
  const signed = writeRelease(kind, record, { keys: [releaseKey], roots: [root] })
  const offer = {
    ...{ update: true, version, checksum, encryption_key: key.toString('hex'), size: container.length },
    ...{ bundle_hash: bundle, filename: 'x', release: Buffer.from(signed).toString('base64') },
    ...{ kind: 'image', compatible },
  }
  return { version, container, offer, bundle, files: [] }
}

export interface StagedBoard extends BoardAbout {
  /** Versions of the images that it was sent, whole. */
  installs: string[]
  /** Whether it has taken an image and is not back yet. */
  isBack: boolean
  /** What it does with an image. @returns the answer; undefined: none, the connection is cut */
  takes(version: string): { status: number; body: object } | undefined
  /** It starts anew, with this image. */
  restarts(version: string): void
}

/** @param socket in a folder that is there */
export async function stageBoard(t: Owner, socket: string): Promise<StagedBoard> {
  const board: StagedBoard = {
    ...{ run: randomUUID(), start: randomUUID(), runs: '1.0.0', compatible: 'panel', state: 'idle', missing: null },
    ...{ installs: [], isBack: true },
    takes(version) {
      setImmediate(() => board.restarts(version))
      return { status: 200, body: { installed: true, version } }
    },
    restarts(version) {
      Object.assign(board, { runs: version, run: randomUUID(), start: randomUUID(), state: 'idle', isBack: true })
    },
  }
  const server = createServer(async (request, response) => {
    const { compatible, missing, run, runs, start, state } = board
    if (request.method !== 'POST') {
      if (board.isBack) response.end(JSON.stringify({ compatible, missing, run, runs, start, state }))
      else request.socket.destroy()
      return
    }
    const image = await buffer(request).catch(() => undefined)
    if (image === undefined) return
    const version = image.toString('latin1', 0, image.indexOf('\n'))
    board.installs.push(version)
    const answer = board.takes(version)
    if (answer === undefined) request.socket.destroy()
    else response.writeHead(answer.status).end(JSON.stringify(answer.body))
  })
  server.listen(socket)
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return board
}

/** @param folder with `state`; `ota.sock` is in it too */
export function imagePartsAt(
  folder: string,
  url: string,
  more: { image?: Partial<ImageSettings>; probationMs?: number; calls?: string[] } = {},
): ImageParts {
  const times = { retry_ms: 1, retry_most_ms: 5, probation_ms: more.probationMs ?? 0, probe_ms: 5, pull_tries: 2 }
  return {
    ...{ state: join(folder, 'state'), arch: 'arm64', clock: systemClock, nowAt: () => Date.now() },
    say: () => {},
    settings: { ...Value.Create(updateTable), ...times, update_url: url },
    image: {
      ...{ ...Value.Create(imageTable), compatible: 'panel', socket: join(folder, 'ota.sock'), restart_ms: 20_000 },
      ...more.image,
    },
    hooks: {
      activeDaemons: async () => ['board'],
      async backup(daemons, { from, to }) {
        more.calls?.push(`backup ${daemons} ${from} ${to}`)
        return '/backups/one'
      },
      hold: async () => ({ release: () => {} }),
      async restore(backup, daemons) {
        more.calls?.push(`restore ${backup} ${daemons}`)
      },
      restart: async (daemons) => void more.calls?.push(`restart ${daemons}`),
    },
  }
}

/** Puts the root there that the board trusts. */
export function trust(folder: string, { root }: Publisher): void {
  mkdirSync(join(folder, 'state/trust'), { recursive: true })
  writeFileSync(join(folder, 'state/trust/root.json'), textOfSigned(root))
}
