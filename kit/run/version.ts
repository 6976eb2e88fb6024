/** The version of what runs, from package.json; bundles carry it inside. */
import facts from '../../package.json' with { type: 'json' }

/** The product's version, `major.minor.patch`. */
export const version: string = facts.version
