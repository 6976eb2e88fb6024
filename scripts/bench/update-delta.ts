/** What an update between two versions moves: two commits of this repository, each built, published and fetched. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Stage, UPDATE_KEY } from '../../daemons/updates/test/stage.ts'

/** How far back the version is from which is updated: a patch, and much more than one. */
const COMMITS = [20, 100]
/** Of the archive, by a patch. */
const MOST_PERCENT = 15

/** Rows of the table. @param folder empty */
export async function deltaFigures(root: string, stage: Stage, folder: string) {
  const figures: { what: string; measured: string; wanted?: string; isMet?: boolean }[] = []
  for (const [at, commits] of COMMITS.entries()) {
    const moved = await movedBetween(root, stage, commits, join(folder, `${commits}`))
    if (moved === undefined) continue
    const percent = (100 * moved.delta) / moved.archive
    figures.push({
      what: `an update by a delta from the release of ${commits} commits before`,
      measured: `${percent.toFixed(1)} % of the archive: ${moved.delta} of ${moved.archive} bytes; published in ${moved.publishS.toFixed(0)} s`,
      ...(at === 0 && { wanted: `<= ${MOST_PERCENT} %`, isMet: percent <= MOST_PERCENT }),
    })
  }
  await stage.stop()
  return figures
}

/** What was moved, in bytes over the wire. */
interface Moved {
  archive: number
  delta: number
  /** Seconds that the publisher took for all of it. */
  publishS: number
}

/**
 * Publishes a commit and the present one as two patch versions, and fetches the second as an installation with the first.
 * @param commits how far the first is back
 * @param folder empty
 * @returns undefined, with a line on the console, where the history does not go back so far
 */
async function movedBetween(root: string, stage: Stage, commits: number, folder: string): Promise<Moved | undefined> {
  const known = await runs('git', ['-C', root, 'rev-parse', '--verify', '--quiet', `HEAD~${commits}`])
  if (!known) {
    console.log(`the history does not go back ${commits} commits: an update from there is left out`)
    return undefined
  }
  const keys = join(folder, 'keys')
  const env = { ...process.env, PLANTROOM_KEYS: keys, PLANTROOM_UPDATE_KEY: UPDATE_KEY }
  const plantroom = (...argv: string[]) => run(join(root, 'build/plantroom'), argv, { env })
  await plantroom('updates', 'keys', 'init')
  const base = commits * 10
  const versions = [`3.0.${base}`, `3.0.${base + 1}`] as const
  async function published(commit: string, version: string): Promise<number> {
    const checkout = await built(root, folder, commit)
    const beganMs = performance.now()
    await plantroom(
      ...['publish', '--no-installer', '--server', stage.url, '--version', version, '--checkout', checkout],
    )
    return (performance.now() - beganMs) / 1000
  }
  await published(`HEAD~${commits}`, versions[0])
  const publishS = await published('HEAD', versions[1])
  return { ...(await fetched(stage, versions)), publishS }
}

/** The files of a commit, built. The addons, which a compiler makes, are those of the present. @returns its folder */
async function built(root: string, folder: string, commit: string): Promise<string> {
  const checkout = join(folder, commit.replace('~', '-'))
  mkdirSync(join(checkout, 'build/stamps'), { recursive: true })
  const tar = `${checkout}.tar`
  await run('git', ['-C', root, 'archive', '--output', tar, commit])
  await run('tar', ['-xf', tar, '-C', checkout])
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  cpSync(join(root, 'build/native'), join(checkout, 'build/native'), { recursive: true })
  for (const script of ['bundle', 'bundle-web'])
    await run(process.execPath, [`scripts/${script}.ts`], { cwd: checkout })
  for (const stamp of ['bundles', 'web']) {
    const file = join(checkout, 'build/stamps', stamp)
    writeFileSync(file, '')
    utimesSync(file, new Date(), new Date())
  }
  return checkout
}

/** Not `spawnSync`: timers and connections of this process go on meanwhile. */
async function runs(program: string, words: readonly string[], more: Where = {}): Promise<boolean> {
  const child = spawn(program, words, { ...more, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = await once(child, 'close')
  return code === 0
}

interface Where {
  cwd?: string
  env?: NodeJS.ProcessEnv
}

async function run(program: string, words: readonly string[], more: Where = {}): Promise<void> {
  if (!(await runs(program, words, more))) throw new Error(`${program} ${words.join(' ')} failed`)
}

/** As an installation fetches it: both, and each is what was offered. */
async function fetched(stage: Stage, [from, version]: readonly [string, string]) {
  const id = await stage.enabled(from)
  const { body: offered } = await stage.post('/check_update', { installation_id: id, version: from, deltas: true })
  if (offered.version !== version || offered.delta?.from !== from)
    throw new Error(`no delta from ${from} to ${version} is offered: ${JSON.stringify(offered)}`)
  const bytesOf = async (more: object, checksum: string) => {
    const answer = await fetch(`${stage.url}/pull_update`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ installation_id: id, version, ...more }),
    })
    const bytes = Buffer.from(await answer.arrayBuffer())
    if (createHash('sha256').update(bytes).digest('hex') !== checksum)
      throw new Error('another file came than was offered')
    return bytes.length
  }
  return { archive: await bytesOf({}, offered.checksum), delta: await bytesOf({ from }, offered.delta.checksum) }
}
