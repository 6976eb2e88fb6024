/** The Node of a machine: what an update brings, and what it runs on where that cannot be had. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { type Test, t } from 'tap'
import { applyUpdate } from '../../release/apply.ts'
import { bringRuntime } from '../../release/runtime.ts'
import { TAR_END, tarHeader, tarPadding } from '../../store/tar.ts'
import type { ArchiveFile } from './archives.ts'
import { filesOf, publish, publisher, stageMachine, stageServer } from './update-stage.ts'

const NODE = randomBytes(3000)
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** An installer as makeself makes it: a script that tells the size of the tar behind it. */
function installerOf(files: Readonly<Record<string, Uint8Array>>): Buffer {
  const tar = Buffer.concat([
    ...Object.entries(files).flatMap(([name, bytes]) => [
      tarHeader({ path: `./${name}`, sizeBytes: bytes.length }, 0o644) ?? Buffer.alloc(0),
      bytes,
      tarPadding(bytes.length),
    ]),
    TAR_END,
  ])
  return Buffer.concat([Buffer.from(`#!/bin/sh\nlabel="Plantroom"\nfilesizes="${tar.length}"\nexit 0\n`), tar])
}

function installer(node: Uint8Array = NODE, name = 'node-25.0.1-amd64.gz'): Buffer {
  return installerOf({
    facts: Buffer.from('version=1.1.0\n'),
    [name]: gzipSync(node),
    'release.tar.gz': randomBytes(700),
  })
}

function wanting(runtimes: Readonly<Record<string, string>> | undefined): ArchiveFile {
  return { path: 'release.json', bytes: Buffer.from(JSON.stringify({ version: '1.1.0', node: '25.0.1', runtimes })) }
}

async function updated(t: Test, { runtimes = { amd64: sha256(NODE) }, from }: { runtimes?: object; from?: Buffer }) {
  const people = publisher()
  const server = await stageServer(t)
  const machine = stageMachine(t.testdir(), server.url, people)
  const files = [...filesOf('1.1.0', 1000), wanting(runtimes as Record<string, string>)]
  server.offered = publish(people, '1.1.0', { files })
  server.installer = from
  const outcome = await applyUpdate(machine.parts())
  return { ...machine, outcome, server, people, node: join(machine.root, 'runtime/node-25.0.1') }
}

t.test('C.runtime an update brings the Node that it wants, out of its installer', async (t) => {
  const { node, outcome, root, said, state } = await updated(t, { from: installer() })
  t.match(outcome, { outcome: 'applied' })
  t.ok(readFileSync(node).equals(NODE))
  t.equal(statSync(node).mode & 0o777, 0o755)
  t.same(readdirSync(join(root, 'runtime')), ['node-25.0.1'])
  t.notOk(readdirSync(state).includes('installer.part'))
  t.notMatch(said.join('\n'), 'warning')
})

for (const [why, given] of Object.entries({
  'there is no installer': {},
  'it is not the one that was signed': { from: installer(randomBytes(10)) },
  'the installer has none for this machine': { from: installer(NODE, 'node-25.0.1-arm64.gz') },
  'the release was published without one': { from: installer(), runtimes: {} },
  'what is sent is no installer': { from: randomBytes(5000) },
}))
  t.test(`C.runtime a Node that cannot be had is a warning, and the update goes on: ${why}`, async (t) => {
    const { node, outcome, root, said } = await updated(t, given)
    t.match(outcome, { outcome: 'applied' })
    t.match(
      said.join('\n'),
      /warning: Node 25\.0\.1 could not be had \(.+\): Node \d+\.\d+\.\d+ is kept, and the next update tries/,
    )
    t.equal(readlinkSync(node), realpathSync(process.execPath))
    t.same(readdirSync(join(root, 'runtime')), ['node-25.0.1'])
  })

t.test('C.runtime the next update tries again, and its Node takes the place', async (t) => {
  const { node, parts, people, server } = await updated(t, {})
  server.installer = installer()
  server.offered = publish(people, '1.2.0', {
    files: [...filesOf('1.2.0', 1000), wanting({ amd64: sha256(NODE) })],
    change: { sequence: 6 },
  })
  t.match(await applyUpdate(parts()), { outcome: 'applied', version: '1.2.0' })
  t.ok(statSync(node).isFile())
  t.ok(readFileSync(node).equals(NODE))
})

t.test('a Node that is there is not fetched, and one that no release wants is removed', async (t) => {
  const { parts, people, root, server } = await updated(t, { from: installer() })
  server.installer = undefined
  for (const [at, version] of ['1.2.0', '1.3.0'].entries()) {
    writeFileSync(join(root, 'runtime/node-1.1.1'), 'old')
    server.offered = publish(people, version, {
      files: [...filesOf(version, 1000), wanting({ amd64: sha256(NODE) })],
      change: { sequence: 6 + at },
    })
    t.match(await applyUpdate(parts()), { outcome: 'applied', version })
    t.same(readdirSync(join(root, 'runtime')), ['node-25.0.1'])
  }
})

t.test('no cut and no changed byte of an installer does more than leave the Node that runs', async (t) => {
  const whole = installer(randomBytes(40))
  const root = t.testdir({ releases: { one: {} } })
  const file = join(root, 'installer')
  writeFileSync(join(root, 'releases/one/release.json'), wanting({ amd64: sha256(NODE) }).bytes)
  mkdirSync(join(root, 'runtime'))
  const tries = [...whole.keys()].filter((at) => at % 61 === 0)
  for (const at of tries) {
    const odd = Buffer.from(whole)
    odd[at] = (odd[at] ?? 0) ^ 0x55
    for (const bytes of [odd, whole.subarray(0, at)]) {
      const fetchInstaller = async () => {
        writeFileSync(file, bytes)
        return file
      }
      const bringing = bringRuntime({ root, arch: 'amd64', mostBytes: 1 << 20, fetchInstaller }, 'one')
      await bringing.then(
        () => t.fail(`byte ${at}`),
        (fault) => fault.code === 'update_runtime_missing' || t.fail(`byte ${at}: ${fault.stack}`),
      )
    }
  }
  t.same(readdirSync(root).sort(), ['releases', 'runtime'])
  t.same(readdirSync(join(root, 'runtime')), ['node-25.0.1'])
})

t.test('a Node that is larger than a release may be is not unpacked', async (t) => {
  const root = t.testdir({ releases: { one: {} }, runtime: {}, installer: installer() })
  writeFileSync(join(root, 'releases/one/release.json'), wanting({ amd64: sha256(NODE) }).bytes)
  const parts = { root, arch: 'amd64', fetchInstaller: async () => join(root, 'installer') }
  await t.rejects(bringRuntime({ ...parts, mostBytes: NODE.length - 1 }, 'one'), {
    message: /it has more than 2999 bytes/,
  })
})
