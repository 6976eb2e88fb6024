/**
 * A board that takes images from an update server, all as built: the board with a command that installs, its updater, the
 * server, and a publisher. What the command installs counts from the next start of the board, as a slot does.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { type RunningBoard, startBoard } from '../../../daemons/board/test/running-board.ts'
import { openStage, type Stage, UPDATE_KEY } from '../../../daemons/updates/test/stage.ts'
import { outerFolder } from './small-checkout.ts'

const PLANTROOM = join(import.meta.dirname, '../../../build/plantroom')

interface Said {
  code: number | null
  out: string
  err: string
}

export interface BoardStage {
  server: Stage
  board: RunningBoard
  id: string
  /** Signs an image, and publishes it. @param otherwise `key`: of whom; words of `plantroom firmware sign` */
  publish(
    version: string,
    otherwise?: { key?: string; compatible?: string; words?: string[]; bytes?: number },
  ): Promise<Said>
  /** `plantroom update`, to its end. */
  update(...words: string[]): Promise<Said>
  /** The same, as it runs. */
  begin(...words: string[]): { child: ChildProcess; said: Promise<Said> }
  /** How the command installs: the words of a shell script. */
  installs(script: string): void
  /** What the next start of the board runs. */
  slot(): string
  /** Versions that the command was given, in order. */
  installed(): string[]
  /** A file of the board's, or of the updater's. */
  path(name: string): string
  /** Files that the updater keeps, and those of images that the board does. */
  left(): string[]
  /** What the server knows of it. */
  known(): Promise<{ version: string; updates: object[] }>
}

/** Puts the version of the image into the slot. */
export const WORKS = 'echo "IMAGE_VERSION=$version" > "$slot"'

/** @param more `url`: of the update server as the board sees it; `sets` of the board */
export async function boardStage(
  t: Test,
  more: { url?: (url: string) => Promise<string>; sets?: string[]; updateSets?: string[] } = {},
): Promise<BoardStage> {
  const folder = outerFolder(t)
  const path = (name: string) => join(folder, name)
  for (const name of ['update/trust', 'bin', 'keys']) mkdirSync(path(name), { recursive: true })
  const program = (name: string, script: string) => {
    writeFileSync(path(name), `#!/bin/sh\n${script}\n`)
    chmodSync(path(name), 0o755)
  }
  for (const name of ['systemctl', 'dpkg-query', 'timedatectl']) program(`bin/${name}`, 'exit 1')
  writeFileSync(path('slot'), 'PRETTY_NAME="A board"\nIMAGE_VERSION="1.0.0"\n')
  const installs = (script: string) =>
    program(
      'install',
      `slot=${path('slot')}
version=$(grep -ao '"version":"[0-9.]*"' "$1" | head -n 1 | cut -d '"' -f 4)
echo "$version" >> ${path('installed')}
${script}`,
    )
  installs(WORKS)
  const server = await openStage(t)
  const url = (await more.url?.(server.url)) ?? server.url
  const begin = beginner(path('bin'))
  const run = (words: readonly string[]) => begin(words).said
  for (const name of ['release', 'stranger']) await run(['firmware', 'keygen', path(name), path(`${name}.pem`)])
  copyFileSync(path('release.pem'), path('keys/release.pem'))
  await run(['updates', 'keys', 'init', '--keys', path('publisher')])
  copyFileSync(path('publisher/roots/1.json'), path('update/trust/root.json'))
  const id = await server.enabled()
  writeFileSync(path('update/installation-id'), id)
  const board = await startBoard(t, {
    stateFolder: path('state'),
    sets: [
      ...[`ota.keys=["${path('keys')}"]`, `ota.command=["${path('install')}"]`, 'ota.reserve_bytes=0'],
      ...[`ota.socket=${path('ota.sock')}`, `ota.os_release=${path('slot')}`, 'ota.compatible=panel'],
      ...(more.sets ?? []),
    ],
  })

  const sets = [
    ...[`update_url=${url}`, 'update.probation_ms=0', 'update.probe_ms=50', 'update.retry_ms=10'],
    ...['image.compatible=panel', `image.socket=${path('ota.sock')}`, ...(more.updateSets ?? [])],
  ].flatMap((set) => ['--set', set])
  const updating = (words: readonly string[]) => begin(['update', ...words, '--state', path('update'), ...sets])
  return {
    ...{ server, board, id, installs, path },
    begin: (...words) => updating(words),
    update: (...words) => updating(words).said,
    async publish(version, { bytes = 1_500_000, compatible = 'panel', key = 'release', words = [] } = {}) {
      writeFileSync(path('rootfs'), Buffer.alloc(bytes, version))
      const image = path(`${compatible}-${version}.img`)
      const about = ['--key', path(key), '--compatible', compatible, '--version', version, ...words]
      await run(['firmware', 'sign', ...about, path('rootfs'), image])
      return await run(['publish', '--image', image, '--server', server.url, '--keys', path('publisher')])
    },
    slot: () => /IMAGE_VERSION="?([0-9.]+)/.exec(readFileSync(path('slot'), 'utf8'))?.[1] ?? '',
    installed: () => (existsSync(path('installed')) ? readFileSync(path('installed'), 'utf8').trim().split('\n') : []),
    left: () => [
      ...readdirSync(path('update')).filter((name) => name.endsWith('.part')),
      ...(existsSync(path('state/firmware')) ? readdirSync(path('state/firmware')) : []),
    ],
    known: async () => (await server.admin('GET', `/admin/api/installations?q=${id}`)).body.installations[0],
  }
}

/** The command as built, with programs of the system that are not those of this machine. */
function beginner(bin: string) {
  const { NODE_COMPILE_CACHE, PATH } = process.env
  const env = { NODE_COMPILE_CACHE, PATH: `${bin}:${PATH}`, PLANTROOM_UPDATE_KEY: UPDATE_KEY }
  return (words: readonly string[]) => {
    const child = spawn(PLANTROOM, words, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const said = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
      ([[code], out, err]) => ({ code, out, err }),
    )
    return { child, said }
  }
}
