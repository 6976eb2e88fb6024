/** Tests of the argon2 addon. */
import { spawnSync } from 'node:child_process'
import { argon2Sync } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { argon2id } from '../index.ts'

const FACE = join(import.meta.dirname, '../index.ts')
const COST = { memory: 64, passes: 2, parallelism: 1, tagLength: 32, nonce: Buffer.from('sixteen bytes...') }

t.test('gives the hash of RFC 9106 as node:crypto has it, also with several lanes and of nothing', async (t) => {
  for (const more of [{}, { parallelism: 4 }, { tagLength: 64 }, { message: Buffer.alloc(0) }]) {
    const input = { ...COST, message: Buffer.from('secret'), ...more }
    t.same(await argon2id(input, 0), argon2Sync('argon2id', input))
  }
})

t.test('says in the words of OpenSSL what it cannot compute', async (t) => {
  const message = Buffer.from('secret')
  await t.rejects(argon2id({ ...COST, message, passes: 0 }, 0), /cannot be computed: .*iteration/)
  await t.rejects(argon2id({ ...COST, message, memory: 1 }, 0), /cannot be computed: .*memory/)
  await t.rejects(argon2id({ ...COST, message, nonce: Buffer.alloc(2) }, 0), /cannot be computed: .*salt/)
})

t.test('a process stays until its hashes are done, and ends well in the midst of them when it is told to', (t) => {
  const program = (last: string) =>
    `import { argon2id } from '${FACE}'
     const input = { message: Buffer.from('x'), nonce: Buffer.alloc(16), tagLength: 32, memory: 19456, passes: 2, parallelism: 1 }
     for (let at = 0; at < 3; at++) argon2id(input, 5).then(() => console.log('done'))
     ${last}`
  const run = (last: string) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', program(last)], { encoding: 'utf8', timeout: 30_000 })
  t.match(run(''), { status: 0, stdout: 'done\ndone\ndone\n' })
  t.match(run('process.exit(3)'), { status: 3, signal: null, stderr: '' })
  t.end()
})
