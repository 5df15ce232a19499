# SPDX-License-Identifier: Apache-2.0
# Ruby's Mongo::Grid::FSBucket against a server.  usage: ruby ruby_gridfs.rb URI upload|verify|all NAME SIZE
# (the same bytes as pymongo_gridfs.py makes)
require 'digest'
require 'mongo'
require 'stringio'

def content(name, size)
  block = (0...2048).map { |i| Digest::SHA256.digest("#{name} #{i}") }.join
  (block * (size / block.length + 1)).byteslice(0, size)
end

def ensure_that(holds, what)
  raise what unless holds
end

def upload(bucket, name, data, metadata)
  bucket.upload_from_stream(name, StringIO.new(data), metadata: metadata)
end

def into_memory
  io = StringIO.new(String.new(encoding: Encoding::BINARY))
  yield io
  io.string
end

def download(bucket, id)
  into_memory { |io| bucket.download_to_stream(id, io) }
end

def by_name(bucket, name, revision)
  into_memory { |io| bucket.download_to_stream_by_name(name, io, revision: revision) }
end

def fails_with(kind)
  yield
  false
rescue kind
  true
end

def everything(client, bucket, name, data)
  backwards = data.reverse
  first = upload(bucket, name, data, color: 'red', n: 1)
  second = upload(bucket, name, backwards, color: 'blue', n: 2)
  ensure_that(download(bucket, first) == data, 'wrong bytes')
  ensure_that(by_name(bucket, name, -1) == backwards, 'newest revision')
  ensure_that(by_name(bucket, name, 0) == data, 'first revision')
  found = bucket.find(filename: name, 'metadata.color' => 'blue').to_a
  ensure_that(found.map { |f| f['_id'] } == [second], 'find by metadata')
  ensure_that(found[0]['length'] == data.bytesize, 'length')
  client['fs.files'].update_one({ _id: first }, '$set' => { filename: "#{name} renamed" })
  ensure_that(bucket.find(_id: first).first['filename'] == "#{name} renamed", 'rename')
  revisions = bucket.find({ filename: name }, sort: { uploadDate: -1 }).map { |f| f['_id'] }
  ensure_that(revisions == [second], 'revisions after the rename')
  [first, second].each { |id| bucket.delete(id) }
  ensure_that(fails_with(Mongo::Error::FileNotFound) { bucket.delete(first) }, 'a deleted file is deleted again')
  ensure_that(fails_with(Mongo::Error::FileNotFound) { download(bucket, first) }, 'a deleted file opens')
  ensure_that(fails_with(Mongo::Error::InvalidFileRevision) { by_name(bucket, name, 5) }, 'no revision of a deleted name')
  ensure_that(client['fs.chunks'].find(files_id: { '$in' => [first, second] }).to_a.empty?, 'chunks remain')
end

Mongo::Logger.logger.level = Logger::WARN
uri, action, name, size = ARGV
# By address: this driver's reading of URIs needs a Ruby before 3.0.
client = Mongo::Client.new([uri[%r{//([^/]*)}, 1]], database: 'test')
bucket = client.database.fs
data = content(name, size.to_i)
case action
when 'upload' then upload(bucket, name, data, made: 'by ruby')
when 'verify'
  digest = Digest::SHA256.hexdigest(by_name(bucket, name, -1))
  ensure_that(digest == Digest::SHA256.hexdigest(data), 'wrong bytes')
  puts digest
else everything(client, bucket, name, data)
end
client.close
