/** The roles of a board, as settings, announcements and answers spell them. */

/** @source Interface 2, B, rule 4 */
export const roleNames = ['encoder', 'decoder', 'serial', 'usbip'] as const

/** One of the roles. */
export type RoleName = (typeof roleNames)[number]
