// What pg's lib/crypto/utils.js does, by node:crypto in place of WebCrypto. The build puts it there (leanPg in
// bundle-core.mjs); test/pg-crypto.test.ts compares the two.
const { createHash, createHmac, pbkdf2, randomBytes } = require('crypto');

const KEY_BYTES = 32;

const hash = (name, data) => createHash(name).update(data);
const md5 = async text => hash('md5', text).digest('hex');

module.exports = {
  randomBytes,
  md5,
  async postgresMd5PasswordHash(user, password, salt) {
    const inner = await md5(password + user);
    return `md5${await md5(Buffer.concat([Buffer.from(inner), salt]))}`;
  },
  sha256: async data => hash('sha256', data).digest(),
  // WebCrypto's names have a hyphen: SHA-256.
  hashByName: async (name, data) => hash(name.replace('-', ''), data).digest(),
  hmacSha256: async (key, text) => createHmac('sha256', key).update(text).digest(),
  deriveKey: (password, salt, iterations) =>
    new Promise((resolve, reject) => {
      pbkdf2(password, salt, iterations, KEY_BYTES, 'sha256', (error, key) =>
        error ? reject(error) : resolve(key),
      );
    }),
};
