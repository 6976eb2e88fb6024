/** The board's password on the disk: the one user of users.json, which `plantroom password` writes too. */
import { createUsersFile } from '#kit/auth/users-file.ts'
import type { Clock } from '#kit/clock.ts'
import { Fault } from '#kit/fault.ts'
import type { Log } from '#kit/log.ts'
import { type AdminPassword, createAdminPassword, type PasswordKeeper } from '../core/admin-password.ts'
import { ADMIN } from '../core/sign-in.ts'

/** The password as it was kept. */
export async function openPassword(by: {
  stateFolder: string
  log: Log
  clock: Clock
  hash(text: string): Promise<string>
}): Promise<AdminPassword> {
  const keeper = createPasswordFile(by.stateFolder, by.log)
  return createAdminPassword(await keeper.load(), { keeper, hash: by.hash, epochMs: by.clock.epochMs })
}

/** @returns what keeps it in the state folder; `load` comes first, and once */
export function createPasswordFile(stateFolder: string, log: Log): PasswordKeeper {
  const file = createUsersFile(stateFolder, log)
  return {
    async load() {
      const { users } = await file.load()
      const user = users.find(({ username }) => username === ADMIN)
      // A board that somebody meant to protect is not left open because of a name.
      if (!user && users.length > 0)
        throw new Fault('store_damaged', `users.json of ${stateFolder} has users and none of them is ${ADMIN}`)
      return user && { hash: user.passwordHash, setAt: user.createdAt }
    },
    save: (record) =>
      file.save({
        version: 1,
        users: record ? [{ username: ADMIN, role: 'admin', passwordHash: record.hash, createdAt: record.setAt }] : [],
      }),
  }
}
