/** Daemons on one store, without their HTTP: what a test opens, closes and cuts off. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { withDefaults } from '#kit/http/check.ts'
import type { Fault } from '#kit/pure/fault.ts'
import { openSeal, type Seal } from '#kit/store/sealing.ts'
import type { Owner } from '#kit/test/running-daemon.ts'
import { config, type UpdatesConfig } from '../config.ts'
import { type Followers, openStore, type UpdatesStore } from '../io/store.ts'

const defaults = withDefaults(JSON.parse(JSON.stringify(config)), {}) as UpdatesConfig

/** What a daemon is given: its own folder, the seal of all of them, and a place for what is told. */
export async function storeStage(t: Test, url: string, more: Partial<UpdatesConfig['store']> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'store-'))
  const seal = await openSeal(folder)
  const told: string[] = []
  const open: UpdatesStore[] = []
  const close = async () => {
    for (const store of open.splice(0)) await store.close()
  }
  t.teardown(async () => {
    await close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    ...{ folder, told, seal, close },
    async open(name = '', other: Seal = seal): Promise<UpdatesStore> {
      const stateFolder = join(folder, name)
      mkdirSync(stateFolder, { recursive: true })
      const store = { ...defaults.store, url, ...more }
      const opened = await openStore({
        ...{ clock: systemClock, stateFolder, seal: other, config: store, busyMs: 1000 },
        onAway: ({ code }: Fault) => void told.push(`away ${code}`),
        onBack: () => void told.push('back'),
        onBroken: ({ code }: Fault) => void told.push(`broken ${code}`),
      })
      open.push(opened)
      return opened
    },
  }
}

/** Notes what is told, by kind. */
export function followers(told: string[] = []): Followers {
  const note = (kind: string) => (all: { changed: readonly object[]; removed: readonly string[] }) => {
    const named = all.changed.map((one) => ('name' in one && one.name) || Object.values(one)[0])
    told.push([kind, ...named, ...all.removed.map((key) => `-${key}`)].join(' '))
  }
  const kinds = ['installation', 'release', 'delta', 'artifact', 'session', 'claim'] as const
  return Object.fromEntries(kinds.map((kind) => [kind, note(kind)])) as unknown as Followers
}

/** A daemon that follows the others. */
export async function opened(stage: Awaited<ReturnType<typeof storeStage>>, name: string) {
  const told: string[] = []
  const store = await stage.open(name)
  await store.follow(followers(told))
  return { store, told }
}

/** Between a daemon and its database; the answer to the next commit is lost once `isCutting`. */
export async function cuttingProxy(t: Test, url: string) {
  const state = { isCutting: false }
  const server = createServer((client) => {
    const database = connect(Number(new URL(url).port), '127.0.0.1')
    let isLost = false
    client.on('data', (bytes) => {
      isLost ||= state.isCutting && bytes.includes('COMMIT')
      database.write(bytes)
    })
    database.on('data', (bytes) => (isLost ? client.destroy() : client.write(bytes)))
    for (const [one, other] of [
      [client, database],
      [database, client],
    ] as const)
      one.on('error', () => {}).on('close', () => other.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const through = new URL(url)
  through.port = String((server.address() as AddressInfo).port)
  return { state, url: through.href }
}

/** A certificate of 127.0.0.1 that is its own authority. */
export function selfSigned(t: Owner) {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const name = ['-subj', '/CN=database', '-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', [...request, ...name, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  t.teardown(() => rmSync(folder, { recursive: true }))
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8'), file: cert }
}
