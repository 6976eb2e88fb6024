/** Fetches files of one npm package that is not among those of package-lock.json, checked as npm checks those. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** One version of a package. */
export interface NpmPackage {
  name: string
  version: string
  /** As package-lock.json has it: `sha512-` and base64. */
  integrity: string
}

/**
 * @param files paths of files and folders in the package; others are not unpacked
 * @param folder where they go, in a folder for each version; what is there already is not fetched again
 * @param fetchMs how long the registry has
 * @returns the folder with the files; undefined where the package could not be fetched
 * @throws Error if what came is not what `integrity` promises, or has no such files
 */
export function unpackedPackage(
  { integrity, name, version }: NpmPackage,
  files: readonly string[],
  folder: string,
  fetchMs: number,
): string | undefined {
  const plain = name.replace('@', '').replace('/', '-')
  const target = join(folder, `${plain}-${version}`)
  const missing = files.find((file) => !existsSync(join(target, file)))
  if (missing === undefined) return target
  const work = `${target}.new`
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { recursive: true })
  try {
    // `npm install --cpu` is not known to the npm of Debian 12, and would install what the package depends on.
    const options = { cwd: work, stdio: 'ignore', timeout: fetchMs, killSignal: 'SIGKILL' } as const
    spawnSync('npm', ['pack', '--ignore-scripts', `${name}@${version}`], options)
    const archive = join(work, `${plain}-${version}.tgz`)
    if (!existsSync(archive)) return undefined
    const digest = createHash('sha512').update(readFileSync(archive)).digest('base64')
    if (`sha512-${digest}` !== integrity) throw new Error(`${name}@${version} is not what ${integrity} promises`)
    const unpacked = spawnSync('tar', ['-xzf', archive, '-C', work, ...files.map((file) => `package/${file}`)])
    if (unpacked.status !== 0) throw new Error(`${name}@${version} cannot be unpacked: ${unpacked.stderr}`)
    rmSync(target, { recursive: true, force: true })
    renameSync(join(work, 'package'), target)
    return target
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
