import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { packageFolders } from '../licences.ts'

const repository = join(import.meta.dirname, '../..')
const build = join(repository, 'build')

/** Packages that the source maps name: maps tell by themselves what a file is made of. */
function packagesIn(folder: string, isOf: (name: string) => boolean): string[] {
  const maps = readdirSync(folder).filter((name) => name.endsWith('.map') && isOf(name))
  return maps.flatMap((name) => {
    const { sources } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { sources: string[] }
    return packageFolders(sources.map((source) => source.replace(/^(\.\.\/)+/, '')))
  })
}

function unpacked<T>(name: string): T {
  return JSON.parse(String(gunzipSync(readFileSync(join(build, 'licences', `${name}.json.gz`))))) as T
}

for (const daemon of readdirSync(join(repository, 'daemons')))
  t.test(`every package in the ${daemon}, its pages and the command line is listed, with a text`, async (t) => {
    const listed = unpacked<{ name: string; version: string; licence: string; text: string }[]>(daemon)
    const bundles = [`${daemon}.mjs.map`, 'plantroom.mjs.map', 'commands.mjs.map']
    const folders = [
      ...packagesIn(build, (name) => bundles.includes(name)),
      ...packagesIn(join(build, 'web', daemon), () => true),
    ]
    t.ok(folders.length > 50)
    for (const folder of folders) {
      const { name, version } = JSON.parse(readFileSync(join(repository, folder, 'package.json'), 'utf8'))
      t.ok(
        listed.some((each) => each.name === name && each.version === version),
        `${name} ${version}`,
      )
    }
    for (const { name, text } of listed) t.ok(unpacked<{ text: string }>(text).text.length > 200, name)
    t.equal(listed.find(({ name }) => name === 'Node.js')?.version, process.versions.node)
  })
