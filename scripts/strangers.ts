/** Finds what no file of the checkout may contain: hosts of package registries, and paths of somebody's machine. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Written so that they do not match this file itself. */
const STRANGERS: { form: RegExp; what: string }[] = [
  { form: /\bregistry\.(npmjs|yarnpkg)\.\w+/, what: 'a package registry' },
  { form: /\b(deb|security|snapshot|ftp)\.debian\.org\b/, what: 'a package mirror' },
  { form: /\bdeb\.nodesource\.\w+/, what: 'a package mirror' },
  { form: /(^|[\s'"`(=])\/(work|Users)\/\w/, what: "a path of somebody's machine" },
  { form: /(^|[\s'"`(=])\/home\/(?!node\b)\w+\//, what: "a path of somebody's machine" },
]

/** Larger files are pictures and data, not text that names things. */
const MOST_BYTES = 1_000_000

/** Faults of the files known to git (without git: of the sources and docs), one line each. */
export function strangerFaults(root: string): string[] {
  const faults: string[] = []
  for (const { file, text } of textFiles(root))
    for (const [index, line] of text.split('\n').entries())
      for (const { form, what } of STRANGERS) if (form.test(line)) faults.push(`${file}:${index + 1}: names ${what}`)
  return faults
}

/** Every text file of the checkout with its path, as known to git (without git: the sources and docs). */
export function* textFiles(root: string): Generator<{ file: string; text: string }> {
  for (const file of filesOf(root)) {
    const path = join(root, file)
    if (!existsSync(path) || !statSync(path).isFile() || statSync(path).size > MOST_BYTES) continue
    yield { file, text: readFileSync(path, 'utf8') }
  }
}

function filesOf(root: string): string[] {
  try {
    const listed = execFileSync('git', ['-C', root, 'ls-files', '-z'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    if (listed !== '') return listed.split('\0').filter((file) => file !== '')
  } catch {
    // No git, or no repository: list the folders below instead.
  }
  return globSync('{*.*,Makefile,{daemons,kit,native,scripts,systemd,docs}/**/*.*}', { cwd: root }).filter(
    (file) => !/(^|\/)(node_modules|build|prebuilds)\//.test(file),
  )
}
