/** A certificate request that is one, in PEM, for the name `writer`; whose key it was, nobody knows. */
export const certificateRequest: string = [
  '-----BEGIN CERTIFICATE REQUEST-----',
  'MIHLMHMCAQAwETEPMA0GA1UEAwwGd3JpdGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0D',
  'AQcDQgAE5n+IRglF1rmeBTO8kecPwX6ypBrL2krSlMzl5WKQL95DviwMs73HR8kb',
  'zAHYpRjwhpJ22vxaYlpxxGpPwMJtM6AAMAoGCCqGSM49BAMCA0gAMEUCIAhXw9Rt',
  'Krdsdk1tIoXS9zvVg5x2zz1J2SS9M+omBnrGAiEAtV4egHenkdb07e4i6Q5nnIXf',
  'eAjmbiP3UwooT3DG+Vk=',
  '-----END CERTIFICATE REQUEST-----',
  '',
].join('\n');
